/// A page that somebody wants to read, as the service has it.
struct Article: Codable, Identifiable, Sendable {
    let id: String
    var title: String?
    var url: String?
    var isRead: Bool?
    /// When it was changed last: that tells one version from others. The service has not said yet when there is none.
    var lastModified: Int?

    enum CodingKeys: String, CodingKey {
        case id, title, url
        case isRead = "read"
        case lastModified = "last_modified"
    }

    /// As Kinto's entity tags have it.
    var version: String? { lastModified.map { "\"\($0)\"" } }

    /// As it is shown, without what controls a terminal.
    var line: String {
        let text = (title ?? url ?? "") + (isRead == true ? "  (read)" : "")
        let scalars = text.unicodeScalars.filter { $0.properties.generalCategory != .control }
        return String(String.UnicodeScalarView(scalars))
    }

    mutating func apply(_ edit: ArticleEdit) {
        title = edit.title ?? title
        url = edit.url ?? url
        isRead = edit.isRead ?? isRead
    }
}

/// What is sent to add an article, or to change one: what is `nil` stays as it is.
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
