import Foundation

/// A gist, as GitHub's API has it; in a list the files have no content.
struct Gist: Codable, Sendable {
    struct File: Codable, Sendable, Hashable {
        var filename: String
        var size: Int?
        var content: String?
        /// Whether `content` is only the beginning.
        var truncated: Bool?
    }

    var id: String
    var description: String?
    var isPublic: Bool
    var files: [String: File]
    var createdAt: String
    var updatedAt: String

    enum CodingKeys: String, CodingKey {
        case id, description, files
        case isPublic = "public"
        case createdAt = "created_at"
        case updatedAt = "updated_at"
    }

    /// Whether it has what an edit says: the same description, where that is said, and the same files.
    func has(_ edit: GistEdit) -> Bool {
        guard edit.description == nil || edit.description ?? "" == description ?? "" else { return false }
        return edit.files.allSatisfy { name, file in files[name]?.content == file.content }
    }

    mutating func apply(_ edit: GistEdit) {
        description = edit.description ?? description
        for (name, file) in edit.files {
            files[name] = File(filename: name, size: file.content.utf8.count, content: file.content)
        }
    }
}

/// What is sent to make a gist, or to change one.
struct GistEdit: Codable, Sendable {
    struct File: Codable, Sendable, Hashable {
        var content: String
    }

    var description: String?
    var isPublic: Bool?
    var files: [String: File]

    enum CodingKeys: String, CodingKey {
        case description, files
        case isPublic = "public"
    }

    /// This, and then another.
    func followed(by later: GistEdit) -> GistEdit {
        GistEdit(
            description: later.description ?? description, isPublic: isPublic,
            files: files.merging(later.files) { $1 })
    }
}
