public import AccountKit

/// A service that AccountKit knows by name: its address, and where it deviates from OAuth 2.0 and OpenID Connect.
///
/// A service that follows the standards and has a discovery document needs no entry. The entries are data: to add a
/// service, add a value to ``all``. An authority finds the entry by the issuer. For an instance at another address,
/// such as GitHub Enterprise Server, the app passes the entry.
public struct KnownService: Sendable, Hashable {
    /// The name on the command line, such as `github`.
    public let name: String

    /// The name to show, such as `GitHub`.
    public let title: String

    /// The issuer, unless the app passes another.
    public let issuer: String

    /// The page on which to register an app, to obtain its client ID.
    public let registrationPage: String

    /// The default scopes of a sign-in (RFC 6749, section 3.3).
    public let scopes: [String]

    /// Whether the service has a discovery document. If so, ``endpoints`` supplies only values that the document lacks.
    var hasDiscovery = true

    /// The endpoints at ``issuer``. A URL that begins with a slash is relative to the issuer.
    var endpoints: [EndpointName: String] = [:]

    var endpointsElsewhere: [EndpointName: String]?

    var tokenURLs: [String] = []

    /// Whether the service requires a client secret from programs, although programs cannot keep one (RFC 8252, section
    /// 8.5).
    public internal(set) var wantsClientSecret = false

    /// Whether revoking a token leaves other sign-ins of the same user and program intact.
    var supportsPerGrantRevocation = false

    var quirks = ServiceQuirks.standard

    /// Whether programs can sign in with the browser at this service.
    public var supportsBrowser: Bool { hasDiscovery || endpoints[.authorization] != nil }

    /// Returns the entry with a name; `nil` if there is none.
    public static func named(_ name: String) -> KnownService? { all.first { $0.name == name.lowercased() } }

    /// Returns the entry of the service at an issuer's host; `nil` if the service is not known.
    ///
    /// - Throws: `invalidArgument` if the text is not an issuer.
    public static func at(_ issuer: String) throws(AccountError) -> KnownService? { at(try Issuer(issuer)) }

    /// The URLs at which other programs, such as git, use the tokens. Elsewhere, only the instance's host is known.
    package func tokenURLs(at issuer: String) -> [String] {
        // An invalid issuer maps to no hosts.
        guard !tokenURLs.isEmpty, let issuer = try? Issuer(issuer) else { return [] }
        return isHome(of: issuer) ? tokenURLs : [issuer.url.description]
    }

    static func at(_ issuer: Issuer) -> KnownService? { all.first { $0.isHome(of: issuer) } }

    /// The entries spell their issuers in normalized form, so they need not be parsed.
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
        // The entries' own URLs are well-formed: a test checks them.
        return text.hasPrefix("/")
            ? ServiceURL(at: issuer.url, path: issuer.url.path + text) : try? ServiceURL(text)
    }
}
