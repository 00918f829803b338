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

extension String {
    /// The text as one line, without characters that control a terminal, or that reorder or hide text.
    var shown: String {
        let scalars = unicodeScalars.filter { scalar in
            switch scalar.value {
            case 0x202A...0x202E, 0x2066...0x206F, 0xE0000...0xE007F: false
            default: ![.control, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
            }
        }
        return String(String.UnicodeScalarView(scalars))
    }
}
