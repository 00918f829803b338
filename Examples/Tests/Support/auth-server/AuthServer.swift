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

/// The command: reads its arguments, starts the server, and says where it is.
@main
struct AuthServer: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "auth-server",
        abstract: "An authorization server for demonstrations and tests.",
        discussion: """
            It prints one line when it accepts connections, "listening on http://127.0.0.1:PORT", and runs until it is \
            interrupted. Users: alice (correct horse battery staple) and bob (hunter2 but longer). Client: \
            account-cli, without a secret.

            With --quirks it has the paths and the peculiarities of a service: github (an Enterprise Server), google, \
            gitlab, or microsoft (issuer http://127.0.0.1:PORT/common/v2.0). Google, and the browser flow of GitHub, \
            want a client_secret; any will do. Otherwise the client has a secret if --client-secret gives it one.

            At /gists it speaks GitHub's API for gists, with its own tokens.

            Requests to /control/ make it fail in the ways of real servers, which is why it only listens on the \
            loopback interface. It is an example: never use it to protect anything.
            """
    )

    @Option(help: "A name or address of the loopback interface.")
    var host = "127.0.0.1"

    @Option(help: ArgumentHelp("Another name that clients know it by, as through a proxy.", valueName: "host"))
    var name: String?

    @Option(help: "The port; 0 for any free one.")
    var port = 0

    @Option(help: ArgumentHelp("Keep sign-ins and tokens in this file over a restart.", valueName: "file"))
    var state: String?

    @Option(help: ArgumentHelp("How long access tokens are valid.", valueName: "seconds"))
    var accessTokenLifetime = 3600

    @Option(help: "Respond as a well-known service does, with its peculiarities.")
    var quirks: Service?

    @Flag(help: "Let tokens expire, as those of a GitHub App; with --quirks github.")
    var expiringTokens = false

    @Option(help: "Whether a refresh ends the old refresh token; off: it stays; both: the access token ends as well.")
    var refreshRotation = Rotation.on

    @Option(help: "Whether a spent refresh token that comes back ends the sign-in.")
    var reuseDetection = Switch.on

    @Option(help: "Which sign-ins bring a refresh token.")
    var refreshTokens = RefreshTokenPolicy.always

    @Option(help: "What revoking a token ends: its whole sign-in, or that token alone.")
    var revocationEnds = RevocationScope.signIn

    @Option(help: "How user info says what is wrong with a token.")
    var userInfoRefusal = StandardQuirks.Refusal.challenge

    @Option(help: ArgumentHelp("The client has this secret. Not for real ones.", valueName: "text"))
    var clientSecret: String?

    @Option(help: "How the client may show its secret.")
    var clientAuthentication = AuthenticationMethods.both

    @Option(
        name: .customLong("redirect-uri"),
        help: ArgumentHelp("A browser may be sent back there and nowhere else; may be repeated.", valueName: "uri")
    )
    var redirectURIs: [String] = []

    @Option(
        name: .customLong("resource"),
        help: ArgumentHelp("Every request for tokens has to name this resource, or one of these.", valueName: "uri")
    )
    var resources: [String] = []

    @Option(help: ArgumentHelp("Every sign-in has to name this audience.", valueName: "name"))
    var audience: String?

    @Option(
        name: .customLong("exchange-audience"),
        help: ArgumentHelp(
            "Access tokens can be exchanged for ones for this audience; may be repeated.", valueName: "name")
    )
    var exchangeAudiences: [String] = []

    @Option(help: ArgumentHelp("How long a device code is valid.", valueName: "seconds"))
    var deviceCodeLifetime = 600

    @Option(help: ArgumentHelp("How long a device must wait between two polls.", valueName: "seconds"))
    var deviceInterval = 5

    @Option(help: ArgumentHelp("Use TLS with this certificate.", valueName: "pem"))
    var tlsCertificate: String?

    @Option(help: ArgumentHelp("The private key of the certificate.", valueName: "pem"))
    var tlsKey: String?

    @Option(
        name: .customLong("demo-user"),
        help: ArgumentHelp("Another user; may be repeated. Not for real passwords.", valueName: "name:password")
    )
    var demoUsers: [DemoUser] = []

    @Flag(help: "Do not write a line for each request to standard error.")
    var quiet = false

    func validate() throws {
        guard LoopbackHost(host) != nil else {
            throw ValidationError(
                """
                --host \(host) is not on the loopback interface. This server is an example that can be told to fail by \
                whoever can connect to it; it listens on localhost, 127.0.0.1 or ::1 only.
                """
            )
        }
        guard (0...65_535).contains(port) else { throw ValidationError("--port is from 0 to 65535.") }
        guard accessTokenLifetime >= 0 else { throw ValidationError("--access-token-lifetime is not negative.") }
        guard deviceCodeLifetime >= 0 else { throw ValidationError("--device-code-lifetime is not negative.") }
        guard deviceInterval >= 0 else { throw ValidationError("--device-interval is not negative.") }
        guard !expiringTokens || quirks == .github else {
            throw ValidationError("--expiring-tokens goes with --quirks github.")
        }
        guard userInfoRefusal == .challenge || quirks == nil else {
            throw ValidationError("--user-info-refusal does not go with --quirks.")
        }
        guard (tlsCertificate == nil) == (tlsKey == nil) else {
            throw ValidationError("--tls-certificate and --tls-key go together.")
        }
    }

    func run() async throws {
        guard let host = LoopbackHost(host) else { return }
        var settings = ServerSettings()
        settings.quirks = service
        settings.accessTokenLifetime = accessTokenLifetime
        settings.rotatesRefreshTokens = refreshRotation != .off
        settings.rotatesAccessTokens = refreshRotation == .both
        settings.detectsReuse = reuseDetection == .on
        settings.refreshTokens = refreshTokens
        settings.revocationEndsSignIn = revocationEnds == .signIn
        settings.clientSecret = clientSecret.map { ClientSecret(text: $0, methods: clientAuthentication.methods) }
        settings.redirectURIs = redirectURIs
        settings.resources = resources
        settings.audience = audience
        settings.exchangeAudiences = exchangeAudiences
        settings.deviceCodeLifetime = deviceCodeLifetime
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
            throw Failure(description: "cannot listen on \(host.urlText):\(port): \(reason)")
        }
    }

    /// A service to resemble.
    enum Service: String, ExpressibleByArgument, CaseIterable {
        case github
        case google
        case microsoft
        case gitlab
    }

    private var service: any ServiceQuirks {
        switch quirks {
        case .github: GitHubQuirks(tokensExpire: expiringTokens)
        case .google: GoogleQuirks()
        case .microsoft: MicrosoftQuirks()
        case .gitlab: GitLabQuirks()
        case nil: StandardQuirks(refusal: userInfoRefusal)
        }
    }

    /// The value of an option that is on unless it is turned off.
    enum Switch: String, ExpressibleByArgument, CaseIterable {
        case on
        case off
    }

    /// What a refresh ends.
    enum Rotation: String, ExpressibleByArgument, CaseIterable {
        case on
        case both
        case off
    }

    /// What revoking a token ends.
    enum RevocationScope: String, ExpressibleByArgument, CaseIterable {
        case signIn = "sign-in"
        case token
    }

    /// How the client may show its secret.
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

    /// Why the server could not start.
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

extension StandardQuirks.Refusal: ExpressibleByArgument {}
