import HummingbirdCore

/// The part of a list that a request is for, and how the parts are linked.
///
/// Source: https://docs.github.com/en/rest/using-the-rest-api/using-pagination-in-the-rest-api
struct Page: Equatable, Sendable {
    private static let defaultSize = 30
    private static let greatestSize = 100

    /// From 1.
    let number: Int
    let size: Int

    init(number: Int = 1, size: Int = defaultSize) {
        self.number = number
        self.size = size
    }

    /// The page that the parameters `page` and `per_page` name. What is no number or out of range does not fail: it is
    /// replaced by the default, or by the greatest size.
    init(of uri: URI) {
        let number = uri.queryParameters["page"].flatMap { Int($0) } ?? 1
        let size = uri.queryParameters["per_page"].flatMap { Int($0) } ?? 0
        self.init(
            // No list is as long as that, and the product with the size stays a number.
            number: (1...1_000_000_000).contains(number) ? number : 1,
            size: size < 1 ? Self.defaultSize : min(size, Self.greatestSize)
        )
    }

    /// How many items are on the pages before.
    var offset: Int { (number - 1) * size }

    /// The value of the `Link` field; `nil` when everything is on one page.
    ///
    /// - Parameters:
    ///   - total: how many items there are.
    ///   - uri: what the request was for; the other parameters are kept.
    ///   - origin: where the server is.
    func links(total: Int, uri: URI, origin: Origin) -> String? {
        let last = max(1, (total + size - 1) / size)
        var links: [(relation: String, page: Int)] = []
        if number > 1 {
            links.append(("prev", min(number - 1, last)))
        }
        if number < last {
            links += [("next", number + 1), ("last", last)]
        }
        if number > 1 {
            links.append(("first", 1))
        }
        guard !links.isEmpty else { return nil }
        let kept = (uri.query ?? "").split(separator: "&").filter { !$0.hasPrefix("page=") }.map(String.init)
        return links.map { link in
            let query = (kept + ["page=\(link.page)"]).joined(separator: "&")
            return "<\(origin.url(uri.path))?\(query)>; rel=\"\(link.relation)\""
        }.joined(separator: ", ")
    }
}
