import Terminal

/// A page to read, in the format of the service.
struct Article: Codable, Identifiable, Sendable {
    let id: String
    var title: String?
    var url: String?
    var isRead: Bool?
    /// When the article was last changed, which identifies its version. `nil` until the service has confirmed it.
    var lastModified: Int?

    enum CodingKeys: String, CodingKey {
        case id, title, url
        case isRead = "read"
        case lastModified = "last_modified"
    }

    /// The version in the format of Kinto's entity tags.
    var version: String? { lastModified.map { "\"\($0)\"" } }

    /// The article as one line that cannot control a terminal.
    var line: String { (title ?? url ?? "").shown + (isRead == true ? "  (read)" : "") }

    mutating func apply(_ edit: ArticleEdit) {
        title = edit.title ?? title
        url = edit.url ?? url
        isRead = edit.isRead ?? isRead
    }
}

/// The body of a request to add or change an article. A member that is `nil` is not changed.
struct ArticleEdit: Codable, Sendable {
    var id: String?
    var title: String?
    var url: String?
    var isRead: Bool?

    enum CodingKeys: String, CodingKey {
        case id, title, url
        case isRead = "read"
    }
}
