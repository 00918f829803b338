import AccountKit
import AccountSupport
package import ArgumentParser

package struct CommonOptions: ParsableArguments, Sendable {
    @Option(help: "Session to use (default: the one in the environment, or the one set by `switch`).")
    package var session: String?

    @Option(
        help: ArgumentHelp(
            "Location of sessions, such as etcds://host:2379/prefix, or file: for files on this machine (default: the "
                + "store in the environment).", valueName: "url"))
    package var store: String?

    @Flag(help: "Print one JSON document instead of text.")
    package var json = false

    @Flag(name: .shortAndLong, help: "Log progress to standard error (never includes tokens).")
    package var verbose = false

    package init() {}

    package static var none: CommonOptions {
        var options = CommonOptions()
        options.session = nil
        options.store = nil
        options.json = false
        options.verbose = false
        return options
    }

    /// Reads an option, and returns whether the reader accepts it.
    mutating func read(_ option: Substring, from words: inout PlainArguments) -> Bool {
        switch option {
        case "--session": words.read(&session)
        case "--store": words.read(&store)
        case "--json": words.read(&json)
        case "--verbose", "-v": words.read(&verbose)
        default: false
        }
    }
}

struct IssuerOptions<App: AccountApplication>: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Address of the service, such as https://auth.example.com. Remembered for the session.",
            visibility: App.acceptsIssuer ? .default : .hidden))
    var issuer: String?

    @Option(
        name: .customLong("client-id"),
        help: ArgumentHelp(
            "Client ID of this tool at the service.",
            visibility: App.acceptsIssuer ? .default : .hidden))
    var clientID: String?

    @Option(
        name: .customLong("client-metadata-url"),
        help: ArgumentHelp(
            "URL of a client ID metadata document, for services that accept one as the client ID.", valueName: "url",
            visibility: App.acceptsIssuer ? .default : .hidden))
    var clientMetadataURL: String?

    /// The options without the spaces around their values, which may come from files with other line breaks.
    var trimmed: IssuerOptions {
        var options = self
        (options.issuer, options.clientID) = (issuer?.trimmed, clientID?.trimmed)
        options.clientMetadataURL = clientMetadataURL?.trimmed
        return options
    }
}

struct RequestOptions<App: AccountApplication>: ParsableArguments {
    @Option(
        name: .customLong("scope"),
        help: ArgumentHelp(
            "Scope to request in addition to the default scopes; can be repeated.",
            visibility: App.visibility(of: .browser, .device)))
    var scopes: [String] = []

    @Flag(
        inversion: .prefixedNo,
        help: ArgumentHelp(
            "Request the service's default scopes in addition to any given with --scope, "
                + "or only those given with --scope.",
            visibility: App.visibility(of: .browser, .device)))
    var defaultScopes: Bool?

    @Option(
        name: .customLong("redirect-uri"),
        help: ArgumentHelp(
            "Redirect URI as registered with the service, such as "
                + "http://127.0.0.1:8400/callback."
                + (App.acceptsIssuer ? " Remembered for the session, like the next five options." : ""),
            valueName: "uri", visibility: App.visibility(of: .browser)))
    var redirectURI: String?

    @Option(
        help: ArgumentHelp(
            "Audience to request tokens for.",
            visibility: App.visibility(of: .browser, .device)))
    var audience: String?

    @Option(
        name: .customLong("resource"),
        help: ArgumentHelp(
            "Resource to request tokens for (RFC 8707); can be repeated.", valueName: "uri",
            visibility: App.visibility(of: .browser, .device)))
    var resources: [String] = []

    @Flag(
        name: .customLong("no-resource"),
        help: ArgumentHelp(
            "Leave out the parameter resource (RFC 8707), for a service that refuses it.",
            visibility: App.visibility(of: .browser, .device)))
    var noResource = false

    @Option(
        name: .customLong("parameter"),
        help: ArgumentHelp(
            "Additional parameter for the service, such as prompt=login or login_hint=NAME; can be repeated.",
            valueName: "name=value", visibility: App.visibility(of: .browser, .device)))
    var parameters: [RequestParameter] = []

    @Option(
        help: ArgumentHelp(
            "How to send the client secret (default: a method that the service supports).", valueName: "method",
            visibility: App.acceptsIssuer ? .default : .hidden))
    var clientAuth: ClientAuthOption?

    @Flag(
        inversion: .prefixedNo,
        help: ArgumentHelp(
            """
            Bind the tokens to a key of this session, so that a copy of the tokens is useless to others (DPoP, RFC \
            9449). Remembered for the session. Programs then need `token --dpop-proof` for each request.
            """, visibility: App.visibility(of: .browser, .device)))
    var dpop: Bool?

    func validate() throws {
        if let redirectURI, !Self.isRedirect(redirectURI) {
            throw ValidationError(
                "--redirect-uri requires a URL on this machine without ? and #, such as http://127.0.0.1:8400/callback")
        }
        if noResource, !resources.isEmpty {
            throw ValidationError("--no-resource cannot be combined with --resource")
        }
        for resource in resources where !RequestRules.isResource(resource) {
            throw ValidationError("--resource requires an absolute URI without #, such as https://api.example.com")
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
