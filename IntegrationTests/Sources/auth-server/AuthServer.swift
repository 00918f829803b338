import ArgumentParser
import Hummingbird
import HummingbirdTLS
import Logging
import NIOCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The command: reads its arguments, starts the server, and prints the server's address.
@main
struct AuthServer: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "auth-server",
        abstract: "An authorization server for demonstrations and tests.",
        discussion: """
            When the server accepts connections, it prints one line, "listening on http://127.0.0.1:PORT". It runs \
            until it is interrupted. Users: alice (correct horse battery staple) and bob (hunter2 but longer). Client: \
            account-cli, without a secret.

            With --service, the server has the paths and the differences of a service, such as github (an Enterprise \
            Server) or entra (issuer http://127.0.0.1:PORT/common/v2.0). Google, Atlassian, and the browser flow of \
            GitHub, require a client_secret; every value is accepted. Without --service, the client has a secret only \
            if --client-secret is given.

            With --notes, the server has the API of the quick start at /notes. Its metadata (RFC 9728) names the resource \
            http://127.0.0.1:PORT, and tools can register themselves (RFC 7591).

            With --api, the server has an API at /mcp that names it in its metadata (RFC 9728). The API requires tokens \
            for the resource http://127.0.0.1:PORT/mcp.

            At /gists, the server implements GitHub's API for gists. It accepts the access tokens that it issued.

            Requests to /control/ make the server fail in the ways real servers fail. For this reason, it listens only \
            on the loopback interface. It is an example: never use it to protect anything.
            """
    )

    @Option(help: "A name or address of the loopback interface.")
    var host = "127.0.0.1"

    @Option(help: ArgumentHelp("Another host name that clients use, for example through a proxy.", valueName: "host"))
    var name: String?

    @Option(help: "The port; 0 selects a free port.")
    var port = 0

    @Option(help: ArgumentHelp("Keep sign-ins and tokens over restarts, in this file.", valueName: "file"))
    var state: String?

    @Option(help: ArgumentHelp("How long access tokens are valid.", valueName: "seconds"))
    var accessTokenLifetime = 3600

    @Option(
        help: ArgumentHelp(
            "Respond like this service: \(Personality.all.map(\.name).joined(separator: ", ")).", valueName: "name"))
    var service: String?

    @Option(
        help: "The tokens that a refresh ends: on: the old refresh token; off: none; both: also the old access token.")
    var refreshRotation = Rotation.on

    @Option(help: "Whether the reuse of an old refresh token ends its sign-in.")
    var reuseDetection = Switch.on

    @Option(help: "Which sign-ins receive a refresh token.")
    var refreshTokens = RefreshTokenPolicy.always

    @Option(help: "What the revocation of a token ends: the whole sign-in, or only the token.")
    var revocationEnds = RevocationScope.signIn

    @Option(help: "How the UserInfo endpoint reports an invalid token.")
    var userInfoRefusal = UserInfoRefusal.challenge

    @Option(help: ArgumentHelp("The secret of the client. Do not use a real secret.", valueName: "text"))
    var clientSecret: String?

    @Option(
        help: ArgumentHelp(
            "The PEM file with the client's public key. The client then authenticates with assertions.",
            valueName: "file"))
    var clientPublicKey: String?

    @Option(help: ArgumentHelp("The key of the assertions of workloads (HS256), such as a test.", valueName: "text"))
    var workloadKey: String?

    @Option(help: "How the client may send its secret.")
    var clientAuthentication = AuthenticationMethods.both

    @Option(
        name: .customLong("redirect-uri"),
        help: ArgumentHelp("The only allowed redirect URI; may be repeated to allow several.", valueName: "uri")
    )
    var redirectURIs: [String] = []

    @Option(
        name: .customLong("resource"),
        help: ArgumentHelp("A resource that token requests must specify; may be repeated.", valueName: "uri")
    )
    var resources: [String] = []

    @Option(help: ArgumentHelp("The audience that every sign-in must specify.", valueName: "name"))
    var audience: String?

    @Option(
        name: .customLong("exchange-audience"),
        help: ArgumentHelp(
            "An audience that access tokens can be exchanged for; may be repeated.", valueName: "name")
    )
    var exchangeAudiences: [String] = []

    @Flag(help: "Serve an API with metadata (RFC 9728) at /mcp.")
    var api = false

    @Flag(
        help:
            "Serve the API of the quick start at /notes, with metadata (RFC 9728), and let clients register themselves."
    )
    var notes = false

    @Option(
        name: .customLong("api-scope"),
        help: ArgumentHelp("A scope that the API requires; may be repeated.", valueName: "name"))
    var apiScopes: [String] = []

    @Option(
        name: .customLong("challenged-scope"),
        help: ArgumentHelp("A scope that the API names in its challenge; may be repeated.", valueName: "name"))
    var challengedScopes: [String] = []

    @Option(help: "Where the metadata of the API is.")
    var apiMetadata = APISettings.Place.challenge

    @Option(help: ArgumentHelp("The authentication class that the API requires (RFC 9470).", valueName: "name"))
    var apiAuthenticationClass: String?

    @Option(help: "Whether clients can register themselves, and whether they can remove the registration.")
    var registration = Registration.off

    @Flag(help: "Issue a secret to each client that registers itself.")
    var registrationSecrets = false

    @Flag(help: "Accept the URL of a metadata document as a client ID, without reading the document.")
    var clientMetadata = false

    @Option(help: "Whether clients can bind tokens to a key (DPoP), and whether proofs need a nonce.")
    var dpop = ProofPolicy.off

    @Option(help: ArgumentHelp("The minimum time between two polls of a device.", valueName: "seconds"))
    var deviceInterval = 5

    @Option(help: ArgumentHelp("Use TLS with this certificate.", valueName: "pem"))
    var tlsCertificate: String?

    @Option(help: ArgumentHelp("The private key of the certificate.", valueName: "pem"))
    var tlsKey: String?

    @Option(
        name: .customLong("demo-user"),
        help: ArgumentHelp("Another user; may be repeated. Do not use a real password.", valueName: "name:password")
    )
    var demoUsers: [DemoUser] = []

    @Flag(help: "Do not write a line for each request to standard error.")
    var quiet = false

    func validate() throws {
        guard LoopbackHost(host) != nil else {
            throw ValidationError(
                """
                --host \(host) is not on the loopback interface. This server is an example, and everyone who can \
                connect to it can make it fail; it listens only on localhost, 127.0.0.1 or ::1.
                """
            )
        }
        guard (0...65_535).contains(port) else { throw ValidationError("--port must be between 0 and 65535.") }
        guard accessTokenLifetime >= 0 else { throw ValidationError("--access-token-lifetime must not be negative.") }
        guard deviceInterval >= 0 else { throw ValidationError("--device-interval must not be negative.") }
        guard service.map({ Personality.named($0) != nil }) ?? true else {
            throw ValidationError("--service must be one of \(Personality.all.map(\.name).joined(separator: ", ")).")
        }
        guard userInfoRefusal == .challenge || service == nil else {
            throw ValidationError("--user-info-refusal cannot be used with --service.")
        }
        guard !api || !notes else { throw ValidationError("--api and --notes cannot be used together.") }
        guard
            api || (apiScopes + challengedScopes).isEmpty && apiMetadata == .challenge && apiAuthenticationClass == nil
        else {
            throw ValidationError("The options for the API, such as --api-scope, require --api.")
        }
        guard (tlsCertificate == nil) == (tlsKey == nil) else {
            throw ValidationError("--tls-certificate and --tls-key must be used together.")
        }
    }

    func run() async throws {
        guard let host = LoopbackHost(host) else { return }
        var settings = ServerSettings()
        settings.personality =
            service.flatMap { Personality.named($0) } ?? .standard(refusal: userInfoRefusal)
        settings.accessTokenLifetime = accessTokenLifetime
        settings.rotatesRefreshTokens = refreshRotation != .off
        settings.rotatesAccessTokens = refreshRotation == .both
        settings.detectsReuse = reuseDetection == .on
        settings.refreshTokens = refreshTokens
        settings.revocationEndsSignIn = revocationEnds == .signIn
        settings.clientSecret = clientSecret.map { ClientSecret(text: $0, methods: clientAuthentication.methods) }
        settings.clientAssertions = clientPublicKey.map { ClientAssertions(path: $0) }
        settings.workloads = workloadKey.map { WorkloadAssertions(key: $0) }
        settings.redirectURIs = redirectURIs
        settings.resources = resources
        settings.audience = audience
        if api {
            settings.api = APISettings(
                scopes: apiScopes, challengedScopes: challengedScopes.isEmpty ? nil : challengedScopes,
                place: apiMetadata, authenticationClass: apiAuthenticationClass)
        }
        if notes {
            settings.api = .notes
            settings.registration = RegistrationSettings()
        }
        if registration != .off {
            settings.registration = RegistrationSettings(
                issuesSecrets: registrationSecrets, isManaged: registration == .managed)
        }
        settings.acceptsClientMetadata = clientMetadata
        settings.chosenProofs = dpop
        settings.exchangeAudiences = exchangeAudiences
        settings.deviceInterval = deviceInterval
        settings.users = UserDirectory(demoUsers: demoUsers)
        settings.name = name
        var tls: TLSConfiguration?
        if let tlsCertificate, let tlsKey {
            tls = try TLSIdentity.configuration(certificatePath: tlsCertificate, keyPath: tlsKey)
            settings.usesTLS = true
        }

        let scheme = settings.usesTLS ? "https" : "http"
        let server = try AuthorizationServer(
            settings: settings,
            clock: ServerClock(),
            file: state.map { StateFile(path: $0) }
        )
        let application = AuthServerApplication(
            server: server,
            address: .hostname(host.address, port: port),
            tls: tls,
            requestLogger: Self.logger(quiet ? .error : .info),
            logger: Self.logger(.error),
            onRunning: { port in
                print("listening on \(scheme)://\(host.urlText):\(port)")
                fflush(nil)
            }
        )
        do {
            try await application.build().runService()
        } catch let error as IOError {
            let reason = String(cString: strerror(error.errnoCode))
            throw Failure(
                description:
                    "cannot listen on \(host.urlText):\(port): \(reason). Choose another port with --port 8081, "
                    + "or with `make auth-server PORT=8081`.")
        }
    }

    /// The value of an option that is on by default.
    enum Switch: String, ExpressibleByArgument, CaseIterable {
        case on
        case off
    }

    /// Whether clients can register themselves.
    enum Registration: String, ExpressibleByArgument, CaseIterable {
        case off
        /// Without a way to remove the registration.
        case on
        /// With a way to remove the registration (RFC 7592).
        case managed
    }

    /// The tokens that a refresh invalidates.
    enum Rotation: String, ExpressibleByArgument, CaseIterable {
        case on
        case both
        case off
    }

    /// The tokens that a revocation invalidates.
    enum RevocationScope: String, ExpressibleByArgument, CaseIterable {
        case signIn = "sign-in"
        case token
    }

    /// The methods by which the client may send its secret.
    enum AuthenticationMethods: String, ExpressibleByArgument, CaseIterable {
        case basic
        case post
        case both

        var methods: [ClientSecret.Method] {
            switch self {
            case .basic: [.basic]
            case .post: [.post]
            case .both: [.basic, .post]
            }
        }
    }

    /// The reason why the server could not start.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private static func logger(_ level: Logger.Level) -> Logger {
        var logger = Logger(label: "auth-server") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = level
        return logger
    }
}

extension DemoUser: ExpressibleByArgument {
    init?(argument: String) {
        self.init(argument)
    }
}

extension RefreshTokenPolicy: ExpressibleByArgument {}

extension APISettings.Place: ExpressibleByArgument {}

extension ProofPolicy: ExpressibleByArgument {}

extension UserInfoRefusal: ExpressibleByArgument {}
