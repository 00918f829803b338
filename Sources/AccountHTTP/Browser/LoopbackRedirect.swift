import AccountKit
import AccountSupport

struct LoopbackRedirect: Sendable, Hashable {
    let host: String
    let port: Int
    let path: String

    init(_ text: String) throws(AccountError) {
        let wanted = "such as http://127.0.0.1:8400/callback"
        let shown = ServiceURL.shown(text)
        let url: ServiceURL
        do {
            url = try ServiceURL(text)
        } catch {
            throw AccountError(.invalidArgument, "the redirect URI\(shown) must be a URL on this machine, \(wanted)")
        }
        guard url.scheme == "http", Self.hosts.contains(url.host) else {
            throw AccountError(
                .invalidArgument,
                "the redirect URI\(shown) must begin with http:// and 127.0.0.1, [::1] or localhost, \(wanted)")
        }
        guard let port = url.port else {
            throw AccountError(.invalidArgument, "the redirect URI\(shown) must name a port other than 80, \(wanted)")
        }
        guard url.query == nil else {
            throw AccountError(.invalidArgument, "the redirect URI\(shown) must not contain a query (?…)")
        }
        host = url.host
        self.port = port
        path = url.path.isEmpty ? "/" : url.path
    }

    private static let hosts: Set<String> = ["127.0.0.1", "[::1]", "localhost"]
}
