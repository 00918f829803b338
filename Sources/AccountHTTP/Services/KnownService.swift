public import AccountKit
import AccountSupport

/// A service that AccountKit supports by name, with its address and its deviations from OAuth 2.0 and OpenID Connect.
///
/// A service that follows the standards and has a discovery document needs no entry. An authority finds the entry by
/// the issuer. For an instance at another address, such as GitHub Enterprise Server, the app passes the entry.
public struct KnownService: Sendable, Hashable {
    /// The name on the command line, such as `github`.
    public let name: String

    /// Other names on the command line, also those of earlier versions, which sessions store.
    package var otherNames: [String] = []

    /// The name to show, such as `GitHub`.
    package let title: String

    /// The issuer of the service, if the app does not pass another. Words in capitals stand for the parts that each customer
    /// has, as in `https://TENANT.auth0.com`.
    public let issuer: String

    /// Further issuers of the service; see ``URLForm``.
    var issuerForms: [String] = []

    /// The page on which developers register an app to obtain a client ID.
    package let registrationPage: String

    /// What to enter on the ``registrationPage``.
    package let registrationAdvice: String

    /// The page that documents how programs sign in.
    let documentation: String

    /// The default scopes of a sign-in (RFC 6749, section 3.3). If the service lists `offline_access`, AccountKit requests it
    /// too.
    package var scopes = ["openid", "profile", "email"]

    /// Whether the service has a discovery document. If so, ``endpoints`` supplies only values that the document omits.
    var hasDiscovery = true

    /// The endpoints at ``issuer``. A URL that begins with a slash is relative to the issuer.
    var endpoints: [EndpointName: String] = [:]

    var endpointsElsewhere: [EndpointName: String]?

    /// The forms of further origins with endpoints of the service, next to that of the ``issuer``. If an API names the
    /// service, its metadata may name endpoints only there.
    var origins: [String] = []

    var tokenURLs: [String] = []

    /// Whether the service requires a client secret from programs, although programs cannot keep it secret (RFC 8252,
    /// section 8.5).
    package var wantsClientSecret = false

    /// The redirect URI of a sign-in, if the service compares the port with the registered redirect URI.
    var redirectURI: String?

    /// Why the service may end sessions that the user did not revoke, as part of a sentence.
    package var endedSessionNote: String?

    /// Whether revoking a token leaves other sign-ins of the same user and program intact.
    var supportsPerGrantRevocation = false

    /// How long a refresh token stays valid if no refresh uses it; `nil` if the service does not say.
    var unusedTokenLifetime: Duration?

    /// Whether each session is bound to a key (RFC 9449), because the service issues no other tokens.
    var requiresProofs = false

    var quirks = ServiceQuirks.standard

    /// Whether the service supports sign-in with a browser.
    package var supportsBrowser: Bool { hasDiscovery || endpoints[.authorization] != nil }

    /// Whether the ``issuer`` is an address. If not, each customer has an issuer, which the user must name.
    package var hasDefaultIssuer: Bool { !URLForm.hasPlaceholder(issuer) }

    /// Returns the entry with a name, or `nil` if there is none.
    public static func named(_ name: String) -> KnownService? {
        let name = name.lowercased()
        return all.first { $0.name == name || $0.otherNames.contains(name) }
    }

    /// Returns the entry for an issuer, or `nil` if AccountKit has no entry for its host and the form of its path.
    ///
    /// - Throws: `invalidArgument` if the text is not an issuer.
    public static func at(_ issuer: String) throws(AccountError) -> KnownService? { at(try Issuer(issuer)) }

    static func at(_ issuer: Issuer) -> KnownService? { all.first { $0.isHome(of: issuer) } }

    /// Returns the URLs at which other programs, such as git, use the tokens. For an instance at another address, the
    /// only URL is the issuer.
    package func tokenURLs(at issuer: String) -> [String] {
        // An invalid issuer has no URLs.
        guard !tokenURLs.isEmpty, let issuer = try? Issuer(issuer) else { return [] }
        return isHome(of: issuer) ? tokenURLs : [issuer.url.description]
    }

    /// Whether the issuer has one of the forms of this entry.
    private func isHome(of issuer: Issuer) -> Bool {
        URLForm.matches(issuer.url, self.issuer) || issuerForms.contains { URLForm.matches(issuer.url, $0) }
    }

    /// Whether users operate the service on their hosts, so that only the path identifies the service.
    package var isSelfHosted: Bool { issuer.hasPrefix("https://HOST/") }

    /// Returns whether the metadata of the service may name endpoints on the server of a URL.
    func hasEndpoints(on origin: ServiceURL) -> Bool { origins.contains { URLForm.matches(origin, $0) } }

    func endpoints(at issuer: Issuer) -> OAuthEndpoints? {
        var urls: [EndpointName: ServiceURL] = [:]
        for name in EndpointName.allCases { urls[name] = url(name, at: issuer) }
        return OAuthEndpoints(urls)
    }

    func url(_ name: EndpointName, at issuer: Issuer) -> ServiceURL? {
        let isHome = isHome(of: issuer)
        guard let text = (isHome ? endpoints : endpointsElsewhere ?? endpoints)[name] else { return nil }
        // A test checks that the URLs in the entries are valid.
        guard text.hasPrefix("/") else { return try? ServiceURL(text) }
        let base = isHome && hasDefaultIssuer ? (try? Issuer(self.issuer).url) ?? issuer.url : issuer.url
        return ServiceURL(at: base, path: base.path + text)
    }
}

/// The form of a URL in an entry. A word in capitals, such as `TENANT`, stands for one label of a host or one segment of a
/// path, and `HOST` for any host and port. A form without a path matches every path.
enum URLForm {
    static func hasPlaceholder(_ form: String) -> Bool {
        form.dropFirst(scheme.count).split { $0 == "." || $0 == "/" }.contains { isPlaceholder($0) }
    }

    static func matches(_ url: ServiceURL, _ form: String) -> Bool {
        guard url.scheme == "https" else { return false }
        let rest = form.dropFirst(scheme.count)
        let authority = rest.prefix { $0 != "/" }
        guard authority == "HOST" || matches(Substring(url.authority), authority, separator: ".") else { return false }
        let path = rest.dropFirst(authority.count)
        return path.isEmpty || matches(Substring(url.path), path, separator: "/")
    }

    private static let scheme = "https://"

    private static func matches(_ text: Substring, _ form: Substring, separator: Character) -> Bool {
        let parts = text.split(separator: separator, omittingEmptySubsequences: false)
        let forms = form.split(separator: separator, omittingEmptySubsequences: false)
        return parts.count == forms.count
            && zip(parts, forms).allSatisfy { part, form in
                // A region of AWS has a hyphen. Other names, such as `s3`, are services with hosts of their customers.
                part == form || isPlaceholder(form) && !part.isEmpty && (form != "REGION" || part.contains("-"))
            }
    }

    private static func isPlaceholder(_ part: Substring) -> Bool {
        !part.isEmpty && part.utf8.allSatisfy { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 }
    }
}
