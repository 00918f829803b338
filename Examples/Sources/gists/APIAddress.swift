import AccountKit
import Foundation
import Terminal

/// The address of an API, which may have a path, such as `https://ghe.example.com/api/v3` of GitHub Enterprise Server.
struct APIAddress {
    /// The scheme, the host and the port.
    let origin: String

    /// The path before the path of each request; empty, or `/` and text that does not end with `/`.
    let path: String

    static let advice = "use https://HOST, or https://HOST/api/v3 for GitHub Enterprise Server"

    /// - Throws: `invalidArgument` if the text is not such an address.
    init(_ text: String) throws(AccountError) {
        let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard var url = URLComponents(string: text), url.scheme != nil, url.host?.isEmpty == false,
            url.user == nil, url.password == nil, url.query == nil, url.fragment == nil,
            // The path of GitHub's other API, and steps to another path.
            !url.path.split(separator: "/").contains(where: { [".", "..", "graphql"].contains($0) })
        else {
            let shown = text.contains("@") ? "" : " \"\(text.shown)\""
            throw AccountError(
                .invalidArgument, "GISTS_API\(shown) is not the address of an API",
                hint: Self.advice)
        }
        path = url.percentEncodedPath.split(separator: "/").map { "/" + $0 }.joined()
        url.percentEncodedPath = ""
        origin = url.string ?? text
    }
}
