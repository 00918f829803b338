import HummingbirdCore

/// The requested page of a list, and the links to other pages.
///
/// Source: https://docs.github.com/en/rest/using-the-rest-api/using-pagination-in-the-rest-api
struct Page: Equatable, Sendable {
    private static let defaultSize = 30
    private static let greatestSize = 100

    /// The number of the page, starting at 1.
    let number: Int
    let size: Int

    init(number: Int = 1, size: Int = defaultSize) {
        self.number = number
        self.size = size
    }

    /// Reads the parameters `page` and `per_page`. Invalid values are replaced by the default or by the maximum size.
    init(of uri: URI) {
        let number = uri.queryParameters["page"].flatMap { Int($0) } ?? 1
        let size = uri.queryParameters["per_page"].flatMap { Int($0) } ?? 0
        self.init(
            // No list is longer, and the product with the size does not overflow.
            number: (1...1_000_000_000).contains(number) ? number : 1,
            size: size < 1 ? Self.defaultSize : min(size, Self.greatestSize)
        )
    }

    /// The number of items on earlier pages.
    var offset: Int { (number - 1) * size }

    /// The value of the `Link` field, or `nil` if everything is on one page.
    ///
    /// - Parameters:
    ///   - total: The number of items.
    ///   - uri: The address of the request, whose other parameters are kept.
    ///   - origin: The address of the server.
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
