public import AccountKit

/// A service that AccountKit supports by name, with its address and its deviations from OAuth 2.0 and OpenID Connect.
///
/// A service that follows the standards and has a discovery document needs no entry. An authority finds the entry by
/// the issuer. For an instance at another address, such as GitHub Enterprise Server, the app passes the entry. To add a
/// service to AccountKit, add a value to ``all``.
public struct KnownService: Sendable, Hashable {
    /// The name on the command line, such as `github`.
    public let name: String

    /// The name to show, such as `GitHub`.
    public let title: String

    /// The issuer of the service, if the app does not pass another.
    public let issuer: String

    /// The page on which developers register an app to obtain a client ID.
    public let registrationPage: String

    /// The default scopes of a sign-in (RFC 6749, section 3.3).
    public let scopes: [String]

    /// Whether the service has a discovery document. If so, ``endpoints`` supplies only values that the document omits.
    var hasDiscovery = true

    /// The endpoints at ``issuer``. A URL that begins with a slash is relative to the issuer.
    var endpoints: [EndpointName: String] = [:]

    var endpointsElsewhere: [EndpointName: String]?

    /// Further origins with endpoints of the service, next to that of the ``issuer``. If an API names the service, its
    /// metadata may name endpoints only there.
    var origins: [String] = []

    var tokenURLs: [String] = []

    /// Whether the service requires a client secret from programs, although programs cannot keep it secret (RFC 8252,
    /// section 8.5).
    public internal(set) var wantsClientSecret = false

    /// Whether revoking a token leaves other sign-ins of the same user and program intact.
    var supportsPerGrantRevocation = false

    var quirks = ServiceQuirks.standard

    /// Whether the service supports sign-in with a browser.
    public var supportsBrowser: Bool { hasDiscovery || endpoints[.authorization] != nil }

    /// Returns the entry with a name, or `nil` if there is none.
    public static func named(_ name: String) -> KnownService? { all.first { $0.name == name.lowercased() } }

    /// Returns the entry for an issuer's host, or `nil` if AccountKit has no entry for the host.
    ///
    /// - Throws: `invalidArgument` if the text is not an issuer.
    public static func at(_ issuer: String) throws(AccountError) -> KnownService? { at(try Issuer(issuer)) }

    /// Returns the URLs at which other programs, such as git, use the tokens. For an instance at another address, the
    /// only URL is the issuer.
    package func tokenURLs(at issuer: String) -> [String] {
        // An invalid issuer has no URLs.
        guard !tokenURLs.isEmpty, let issuer = try? Issuer(issuer) else { return [] }
        return isHome(of: issuer) ? tokenURLs : [issuer.url.description]
    }

    static func at(_ issuer: Issuer) -> KnownService? { all.first { $0.isHome(of: issuer) } }

    /// Returns whether the issuer is on the host of this entry. The issuers in the entries are normalized, so this
    /// method compares them without parsing.
    private func isHome(of issuer: Issuer) -> Bool {
        let scheme = "https://".utf8
        let authority = self.issuer.utf8.dropFirst(scheme.count).prefix { $0 != UInt8(ascii: "/") }
        return issuer.url.scheme == "https" && authority.elementsEqual(issuer.url.authority.utf8)
    }

    func endpoints(at issuer: Issuer) -> OAuthEndpoints? {
        var urls: [EndpointName: ServiceURL] = [:]
        for name in EndpointName.allCases { urls[name] = url(name, at: issuer) }
        return OAuthEndpoints(urls)
    }

    func url(_ name: EndpointName, at issuer: Issuer) -> ServiceURL? {
        let known = isHome(of: issuer) ? endpoints : endpointsElsewhere ?? endpoints
        guard let text = known[name] else { return nil }
        // A test checks that the URLs in the entries are valid.
        return text.hasPrefix("/")
            ? ServiceURL(at: issuer.url, path: issuer.url.path + text) : try? ServiceURL(text)
    }
}
