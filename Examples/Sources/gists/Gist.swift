import Foundation

/// A gist in the format of GitHub's API. In a list, the files have no content.
struct Gist: Codable, Sendable {
    struct File: Codable, Sendable, Hashable {
        var filename: String
        var size: Int?
        var content: String?
        /// Whether `content` is only the beginning of the file.
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

    /// Whether the gist already matches an edit: the same description, if the edit has one, and the same files.
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

/// The body of a request to create or change a gist.
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

    /// Combines this edit with a later one.
    func followed(by later: GistEdit) -> GistEdit {
        GistEdit(
            description: later.description ?? description, isPublic: isPublic,
            files: files.merging(later.files) { $1 })
    }
}
