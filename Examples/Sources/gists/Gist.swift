import Foundation

/// A gist in the format of GitHub's API. In a list, the files have no content.
struct Gist: Sendable {
    var id: String
    var description: String?
    var isPublic: Bool
    var files: [String: File]
    var createdAt: String
    var updatedAt: String
    /// Whether the gist has more files than the service sends.
    var truncated: Bool?
    /// The names of files in an unexpected form, such as `null`.
    var unreadableFiles: [String] = []

    /// Whether the gist has files that are not here.
    var lacksFiles: Bool { truncated == true || !unreadableFiles.isEmpty }

    func hasDescription(of edit: GistEdit) -> Bool {
        edit.description == nil || edit.description ?? "" == description ?? ""
    }

    /// Whether a gist in a list, which has no texts, may be the gist that an edit creates.
    func mayHave(_ edit: GistEdit) -> Bool {
        description ?? "" == edit.description ?? ""
            && (files.count == edit.files.count || lacksFiles && files.count < edit.files.count)
            && unreadableFiles.allSatisfy { edit.files[$0] != nil }
            && files.allSatisfy { name, file in
                edit.files[name].map { file.size ?? $0.content.utf8.count == $0.content.utf8.count } ?? false
            }
    }

    /// Whether the gist was created after a date, by the clock of the service. `true` if its date cannot be read.
    func isCreated(after date: Date) -> Bool { (try? Date(createdAt, strategy: .iso8601)).map { $0 >= date } ?? true }

    mutating func apply(_ edit: GistEdit) {
        description = edit.description ?? description
        for (name, file) in edit.files {
            files[name] = File(filename: name, size: file.content.utf8.count, content: file.content)
        }
        unreadableFiles.removeAll { edit.files[$0] != nil }
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
