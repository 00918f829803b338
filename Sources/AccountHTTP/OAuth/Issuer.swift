import AccountKit

/// An issuer identifier (RFC 8414, section 2): a URL without query and fragment that identifies a service. A trailing
/// slash has no meaning: users add or omit it, and no service has two issuers that differ only in the slash.
struct Issuer: Sendable, Hashable {
    /// The URL, without a trailing slash.
    let url: ServiceURL

    var form = Form.exact

    /// The other spellings of the issuer that the service may use in its documents and tokens.
    enum Form: Sendable, Hashable {
        case exact
        case schemeOptional
        /// Only this spelling, with or without the trailing slash that it has (RFC 8414, section 3.3).
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
        other == identifier || other == identifier + "/"
    }

    /// - Parameter tenant: The user's tenant from the ID token. `nil` matches any tenant.
    func isNamed(by text: String, tenant: String? = nil) -> Bool {
        if case .verbatim(let expected) = form { return text.utf8.elementsEqual(expected.utf8) }
        if isSame(as: text) { return true }
        switch form {
        case .exact, .verbatim: return false
        case .schemeOptional: return isSame(as: "\(url.scheme)://\(text)")
        case .perTenant:
            // A configured tenant matches only itself.
            let configured = url.path.dropFirst().prefix { $0 != "/" }
            guard ["common", "organizations", "consumers"].contains(configured) else { return false }
            let start = "\(url.scheme)://\(url.authority)/"
            let end = url.path.dropFirst().drop { $0 != "/" }
            guard text.hasPrefix(start), text.hasSuffix(end), text.utf8.count > start.utf8.count + end.utf8.count else {
                return false
            }
            let named = text.dropFirst(start.count).dropLast(end.count)
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
