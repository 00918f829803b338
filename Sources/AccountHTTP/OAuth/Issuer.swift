import AccountKit
import AccountSupport

/// An issuer identifier (RFC 8414, section 2): a URL without query and fragment that identifies a service.
///
/// Two spellings are the same issuer if they are the same URL after the normalization of RFC 3986, sections 6.2.2.1 and
/// 6.2.3: the scheme and the host in lower case, no default port, and no difference between an empty path and `/`. RFC 8414,
/// section 3.3, compares the characters, but these spellings lead to the same server, and services mix them. Longer paths
/// are compared character by character, because one server may have several issuers. A trailing slash has no meaning
/// only in an issuer that the user typed: users add or omit it.
struct Issuer: Sendable, Hashable {
    /// The URL, without a trailing slash.
    let url: ServiceURL

    var form = Form.exact

    /// The other spellings of the issuer that the service may use in its documents and tokens.
    enum Form: Sendable, Hashable {
        case exact
        case schemeOptional
        /// The path as an API spells it, with or without the trailing slash that it has (RFC 8414, section 3.3).
        case verbatim(String)
        /// If the configured issuer contains `common`, `organizations` or `consumers`, the service may replace it with
        /// the tenant or, in discovery documents, with a placeholder.
        case perTenant
    }
    var identifier: String { url.description }

    init(_ url: ServiceURL, form: Form) {
        self.url = url
        self.form = form
    }

    init(_ text: String) throws(AccountError) {
        let url: ServiceURL
        do {
            url = try ServiceURL(text)
        } catch {
            throw AccountError(.invalidArgument, Self.message(about: text, error))
        }
        guard url.query == nil else {
            throw AccountError(.invalidArgument, "the issuer must not contain a query (?…)")
        }
        self.url = ServiceURL(at: url, path: url.path.hasSuffix("/") ? String(url.path.dropLast()) : url.path)
    }

    func isSame(as other: String) -> Bool {
        if other == identifier { return true }
        guard let other = try? Issuer(other) else { return false }
        return other.url == url
    }

    /// Whether two spellings are the same issuer. A trailing slash of a longer path counts.
    static func isSame(_ first: String, _ second: String) -> Bool {
        if first.utf8.elementsEqual(second.utf8) { return true }
        guard let first = normalized(first), let second = normalized(second) else { return false }
        return first == second
    }

    private static func normalized(_ text: String) -> ServiceURL? {
        guard let url = try? ServiceURL(text), url.query == nil else { return nil }
        return url.path == "/" ? url.origin : url
    }

    /// - Parameter tenant: The user's tenant from the ID token. `nil` matches any tenant.
    func isNamed(by text: String, tenant: String? = nil) -> Bool {
        if case .verbatim(let expected) = form { return Self.isSame(text, expected) }
        if isSame(as: text) { return true }
        switch form {
        case .exact, .verbatim: return false
        case .schemeOptional: return isSame(as: "\(url.scheme)://\(text)")
        case .perTenant:
            // A configured tenant matches only itself.
            let configured = url.path.dropFirst().prefix { $0 != "/" }
            guard ["common", "organizations", "consumers"].contains(configured) else { return false }
            guard let separator = text.utf8.firstRange(of: "://".utf8),
                let slash = text[separator.upperBound...].firstIndex(of: "/"),
                let origin = try? ServiceURL(String(text[..<slash])), origin == url.origin
            else { return false }
            let path = text[text.index(after: slash)...]
            let end = url.path.dropFirst().drop { $0 != "/" }
            guard path.hasSuffix(end), path.utf8.count > end.utf8.count else { return false }
            // A placeholder for the tenant is not part of a URL.
            let named = path.dropLast(end.count)
            return !named.contains("/") && (tenant.map { $0 == named } ?? true)
        }
    }

    private static func message(about text: String, _ flaw: ServiceURL.Flaw) -> String {
        let shown = ServiceURL.shown(text)
        // Suggest a scheme only if adding it makes the text a URL.
        guard !shown.isEmpty, flaw == .noScheme, let url = try? ServiceURL("https://" + text) else {
            return "the issuer\(shown) \(flaw.text)"
        }
        return "the issuer\(shown) has no scheme; did you mean \(url.isLoopback ? "http" : "https")://\(text)?"
    }
}
