import AccountKit
import AccountSupport
import ArgumentParser

struct IssuerOptions<App: AccountApplication>: ParsableArguments {
    @Option(
        name: .customLong("client-id"),
        help: ArgumentHelp(
            "Client ID of this tool at the service.",
            visibility: App.acceptsIssuer ? .default : .hidden))
    var clientID: String?

    @Option(
        help: ArgumentHelp(
            "Authorization server, if the API at the URL has several or you do not trust the one that it names. Without "
                + "a URL, the same as the URL of a service.", valueName: "url",
            visibility: App.acceptsIssuer ? HelpDetail.more : .hidden))
    var issuer: String?
}

/// The options for the tokens to request.
struct RequestOptions<App: AccountApplication>: ParsableArguments {
    @Option(
        name: .customLong("scope"),
        help: ArgumentHelp(
            "Scope to request in addition to the default scopes; can be repeated.",
            valueName: "scope", visibility: App.visibility(of: .browser, .device)))
    var scopeArguments: [String] = []

    @Flag(
        inversion: .prefixedNo,
        help: ArgumentHelp(
            "Request the service's default scopes in addition to any given with --scope, "
                + "or only those given with --scope.",
            visibility: App.moreVisibility(of: .browser, .device)))
    var defaultScopes: Bool?

    @Option(
        help: ArgumentHelp(
            "Audience to request tokens for. Remembered for the session, like --resource, --redirect-uri, --parameter "
                + "and --client-auth.",
            visibility: App.moreVisibility(of: .browser, .device)))
    var audience: String?

    @Option(
        name: .customLong("resource"),
        help: ArgumentHelp(
            "Resource to request tokens for (RFC 8707); can be repeated.", valueName: "uri",
            visibility: App.moreVisibility(of: .browser, .device)))
    var resources: [String] = []

    @Flag(
        name: .customLong("no-resource"),
        help: ArgumentHelp(
            "Leave out the parameter resource (RFC 8707), for a service that refuses it.",
            visibility: App.moreVisibility(of: .browser, .device)))
    var noResource = false

    @Option(
        help: ArgumentHelp(
            "How to send the client secret (default: a method that the service supports).", valueName: "method",
            visibility: App.acceptsIssuer ? HelpDetail.more : .hidden))
    var clientAuth: ClientAuthOption?

    /// The scopes. One argument may contain several, as in a request (RFC 6749, section 3.3).
    var scopes: [String] { scopeArguments.flatMap { $0.split(separator: " ").map(String.init) } }

    func validate() throws {
        if scopeArguments.contains(where: { $0.allSatisfy { $0 == " " } }) {
            throw ValidationError("--scope requires the name of a scope")
        }
        if noResource, !resources.isEmpty {
            throw ValidationError("--no-resource cannot be combined with --resource")
        }
        for resource in resources where !RequestRules.isResource(resource) {
            throw ValidationError(
                "--resource requires an absolute URI without #", hint: "for example, https://api.example.com")
        }
    }
}

/// The options of a sign-in of a user that few services need.
struct AuthorizationOptions<App: AccountApplication>: ParsableArguments {
    @Option(
        name: .customLong("redirect-uri"),
        help: ArgumentHelp(
            "Redirect URI as registered with the service, such as http://127.0.0.1:8400/callback.",
            valueName: "uri", visibility: App.moreVisibility(of: .browser)))
    var redirectURI: String?

    @Option(
        name: .customLong("parameter"),
        help: ArgumentHelp(
            "Additional parameter for the service, such as prompt=login or login_hint=NAME; can be repeated.",
            valueName: "name=value", visibility: App.moreVisibility(of: .browser, .device)))
    var parameters: [RequestParameter] = []

    @Option(
        name: .customLong("client-metadata-url"),
        help: ArgumentHelp(
            "URL of a client ID metadata document, for services that accept one as the client ID.", valueName: "url",
            visibility: App.acceptsIssuer ? HelpDetail.more : .hidden))
    var clientMetadataURL: String?

    @Flag(
        inversion: .prefixedNo,
        help: ArgumentHelp(
            """
            Bind the tokens to a key of this session, so that a copy of the tokens is useless to others (DPoP, RFC \
            9449). Remembered for the session. Programs then need `token --dpop-proof` for each request.
            """, visibility: App.moreVisibility(of: .browser, .device)))
    var dpop: Bool?

    func validate() throws {
        if let redirectURI, !Self.isRedirect(redirectURI) {
            throw ValidationError(
                "--redirect-uri requires a URL on this machine without ? and #",
                hint: "for example, http://127.0.0.1:8400/callback")
        }
        for parameter in parameters where RequestRules.reservedParameters[parameter.name.lowercased()] != nil {
            throw ValidationError("--parameter cannot set \(parameter.name.shown): AccountKit sets it")
        }
    }

    /// Returns whether a redirect URI is valid (RFC 8252, section 7.3; RFC 6749, section 3.1.2).
    private static func isRedirect(_ text: String) -> Bool {
        let scheme = "http://"
        guard text.hasPrefix(scheme), text.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else { return false }
        guard !text.contains(where: { "?#@".contains($0) }) else { return false }
        let authority = text.dropFirst(scheme.count).prefix { $0 != "/" }
        return ["127.0.0.1", "[::1]", "localhost"].contains { host in
            guard authority.hasPrefix(host) else { return false }
            let port = authority.dropFirst(host.count)
            return port.isEmpty || port.first == ":" && UInt16(port.dropFirst()).map { $0 > 0 } == true
        }
    }
}

enum ClientAuthOption: String, ExpressibleByArgument, CaseIterable {
    case basic, post

    /// The name in OpenID Connect Core, section 9.
    var method: String { "client_secret_" + rawValue }
}

struct RequestParameter: ExpressibleByArgument {
    let name: String
    let value: String

    init?(argument: String) {
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty else { return nil }
        (name, value) = (String(parts[0]), String(parts[1]))
    }
}

extension [RequestParameter] {
    var values: [String: String] { Dictionary(map { ($0.name, $0.value) }) { $1 } }
}
