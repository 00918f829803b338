import AccountKit

/// An issuer identifier (RFC 8414, section 2): a URL without query and fragment, which names a service.
///
/// Two are the same if they are equal but for one slash at the end: people leave it out and put it in, and no service
/// has two issuers that differ in nothing else.
struct Issuer: Sendable, Hashable {
    /// Without a slash at the end.
    let url: ServiceURL

    var form = Form.exact

    /// Which other texts of the service name it.
    enum Form: Sendable, Hashable {
        case exact
        case schemeOptional
        /// With the tenant of the user in the place of the path's first part, where that is `common`, `organizations` or
        /// `consumers`; a document has a placeholder there.
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

    /// Whether a document, a response or an ID token of the service names this issuer.
    ///
    /// - Parameter tenant: The user's tenant, of which an ID token is; `nil` takes any.
    func isNamed(by text: String, tenant: String? = nil) -> Bool {
        if isSame(as: text) { return true }
        switch form {
        case .exact: return false
        case .schemeOptional: return isSame(as: "\(url.scheme)://\(text)")
        case .perTenant:
            // A configured tenant means that one only.
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
        // Nothing to suggest if a scheme does not make it a URL.
        guard !shown.isEmpty, flaw == .noScheme, let url = try? ServiceURL("https://" + text) else {
            return "the issuer\(shown) \(flaw.text)"
        }
        return "the issuer\(shown) has no scheme; did you mean \(url.isLoopback ? "http" : "https")://\(text)?"
    }
}
