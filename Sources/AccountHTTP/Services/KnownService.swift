public import AccountKit

/// A service that is known by name: where it is, and where it departs from OAuth 2.0 and OpenID Connect.
///
/// A service that keeps to the standards and has a discovery document needs no entry. The entries are data: a new one is
/// a new value in ``all``. An authority finds the entry by its issuer; one for a copy that runs elsewhere, such as GitHub
/// Enterprise Server, is told which it is.
public struct KnownService: Sendable, Hashable {
    /// What it is called on a command line, such as `github`.
    public let name: String

    /// The issuer, unless another is given.
    public let issuer: String

    /// Where an app is registered, to get the client identifier that the service knows it by.
    public let registrationPage: String

    /// What a sign-in asks for, unless told otherwise (RFC 6749, section 3.3).
    public let scopes: [String]

    /// If there is a discovery document, the endpoints here are for what it leaves out.
    var hasDiscovery = true

    /// At ``issuer``. A URL that begins with a slash is below the issuer's.
    var endpoints: [EndpointName: String] = [:]

    /// Those of a copy that runs elsewhere, where they differ.
    var endpointsElsewhere: [EndpointName: String]?

    /// Where other programs, such as git, use its tokens.
    var tokenURLs: [String] = []

    /// Whether it wants what it calls a client secret of programs, which can keep none (RFC 8252, section 8.5).
    public internal(set) var wantsClientSecret = false

    /// Whether revoking a token leaves other sign-ins of the same user with the same program alone.
    var supportsPerGrantRevocation = false

    var quirks = ServiceQuirks.standard

    /// The entry of a name; `nil` if there is none.
    public static func named(_ name: String) -> KnownService? { all.first { $0.name == name.lowercased() } }

    /// The entry of the service at an issuer's host; `nil` if it is not a known one.
    ///
    /// - Throws: `invalidArgument` if that is no issuer.
    public static func at(_ issuer: String) throws(AccountError) -> KnownService? { at(try Issuer(issuer)) }

    /// Where other programs, such as git, use its tokens. Of a copy that runs elsewhere only its own host is known.
    package func tokenURLs(at issuer: String) -> [String] {
        // What is no issuer has no hosts.
        guard !tokenURLs.isEmpty, let issuer = try? Issuer(issuer) else { return [] }
        return isHome(of: issuer) ? tokenURLs : [issuer.url.description]
    }

    static func at(_ issuer: Issuer) -> KnownService? { all.first { $0.isHome(of: issuer) } }

    /// The entries' own issuers are written as URLs are compared, so none of them is read for that.
    private func isHome(of issuer: Issuer) -> Bool {
        let scheme = "https://".utf8
        let authority = self.issuer.utf8.dropFirst(scheme.count).prefix { $0 != UInt8(ascii: "/") }
        return issuer.url.scheme == "https" && authority.elementsEqual(issuer.url.authority.utf8)
    }

    /// `nil` if none of the known endpoints issues tokens.
    func endpoints(at issuer: Issuer) -> OAuthEndpoints? {
        var urls: [EndpointName: ServiceURL] = [:]
        for name in EndpointName.allCases { urls[name] = url(name, at: issuer) }
        return OAuthEndpoints(urls)
    }

    func url(_ name: EndpointName, at issuer: Issuer) -> ServiceURL? {
        let known = isHome(of: issuer) ? endpoints : endpointsElsewhere ?? endpoints
        guard let text = known[name] else { return nil }
        // The entries' own URLs are well-formed, and a test reads them all.
        return text.hasPrefix("/")
            ? ServiceURL(at: issuer.url, path: issuer.url.path + text) : try? ServiceURL(text)
    }
}
