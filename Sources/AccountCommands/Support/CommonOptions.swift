import AccountKit
import ArgumentParser

struct CommonOptions: ParsableArguments {
    @Option(help: "Which of several sign-ins; else the environment's, else the one that `switch` chose.")
    var session: String?

    @Option(
        help: ArgumentHelp(
            "Where sign-ins are kept, such as etcds://host:2379/prefix, or file: for the files of this machine; else the "
                + "environment's.", valueName: "url"))
    var store: String?

    @Flag(help: "Print one JSON document instead of text.")
    var json = false

    @Flag(name: .shortAndLong, help: "Say on standard error what is being done; never shows a token.")
    var verbose = false

    static var none: CommonOptions {
        var options = CommonOptions()
        options.session = nil
        options.store = nil
        options.json = false
        options.verbose = false
        return options
    }
}

struct IssuerOptions<App: AccountApplication>: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The address of the service, such as https://auth.example.com. Remembered for the session.",
            visibility: App.acceptsIssuer ? .default : .hidden))
    var issuer: String?

    @Option(
        name: .customLong("client-id"),
        help: ArgumentHelp(
            "The client identifier that the service knows this tool by.",
            visibility: App.acceptsIssuer ? .default : .hidden))
    var clientID: String?
}

struct RequestOptions<App: AccountApplication>: ParsableArguments {
    @Option(
        name: .customLong("scope"),
        help: ArgumentHelp(
            "Ask for this scope, in addition to the default scopes; may be given several times.",
            visibility: App.visibility(of: .browser, .device)))
    var scopes: [String] = []

    @Flag(
        inversion: .prefixedNo,
        help: ArgumentHelp(
            "Ask for the default scopes of the service, or only for those of --scope.",
            visibility: App.visibility(of: .browser, .device)))
    var defaultScopes: Bool?

    @Option(
        name: .customLong("redirect-uri"),
        help: ArgumentHelp(
            "Where the service sends the browser back to, as it is registered there, such as "
                + "http://127.0.0.1:8400/callback."
                + (App.acceptsIssuer ? " Remembered for the session, as are the next four." : ""),
            valueName: "uri", visibility: App.visibility(of: .browser)))
    var redirectURI: String?

    @Option(
        help: ArgumentHelp(
            "Whom the tokens are for, where the service calls it audience.",
            visibility: App.visibility(of: .browser, .device)))
    var audience: String?

    @Option(
        name: .customLong("resource"),
        help: ArgumentHelp(
            "Whom the tokens are for (RFC 8707); may be given several times.", valueName: "uri",
            visibility: App.visibility(of: .browser, .device)))
    var resources: [String] = []

    @Option(
        name: .customLong("parameter"),
        help: ArgumentHelp(
            "A further parameter for the service, such as prompt=login or login_hint=NAME; may be given several times.",
            valueName: "name=value", visibility: App.visibility(of: .browser, .device)))
    var parameters: [RequestParameter] = []

    @Option(
        help: ArgumentHelp(
            "How the client secret is sent (default: as the service supports it).", valueName: "method",
            visibility: App.acceptsIssuer ? .default : .hidden))
    var clientAuth: ClientAuthOption?

    func validate() throws {
        if let redirectURI, !Self.isRedirect(redirectURI) {
            throw ValidationError(
                "--redirect-uri takes a URL of this machine without ? and #, such as http://127.0.0.1:8400/callback")
        }
        for resource in resources where !RequestRules.isResource(resource) {
            throw ValidationError("--resource takes an absolute URI without #, such as https://api.example.com")
        }
        for parameter in parameters where RequestRules.reservedParameters[parameter.name.lowercased()] != nil {
            throw ValidationError("--parameter cannot set \(parameter.name.shown): the sign-in does that itself")
        }
    }

    /// RFC 8252, section 7.3; RFC 6749, section 3.1.2.
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

    /// The name of OpenID Connect Core, section 9.
    var method: String { "client_secret_" + rawValue }
}

/// Written as `name=value`.
struct RequestParameter: ExpressibleByArgument {
    let name: String
    let value: String

    init?(argument: String) {
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty else { return nil }
        (name, value) = (String(parts[0]), String(parts[1]))
    }
}
