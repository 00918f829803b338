import Foundation

/// A gist in the format of GitHub's API. In a list, the files have no content.
struct Gist: Codable, Sendable {
    struct File: Codable, Sendable, Hashable {
        var filename: String
        var size: Int?
        var content: String?
        /// Whether `content` is only the beginning of the file.
        var truncated: Bool?
        /// The address of the whole text.
        var rawURL: String?

        enum CodingKeys: String, CodingKey {
            case filename, size, content, truncated
            case rawURL = "raw_url"
        }

        /// The part of the file that `content` is, such as "the first 1000000 of 1600000 bytes"; `nil` if
        /// the file is whole.
        var part: String? {
            guard truncated == true, let content else { return nil }
            return "the first \(content.utf8.count)" + (size.map { " of \($0)" } ?? "") + " bytes"
        }
    }

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

    enum CodingKeys: String, CodingKey {
        case id, description, files, truncated
        case isPublic = "public"
        case createdAt = "created_at"
        case updatedAt = "updated_at"
    }

    func hasDescription(of edit: GistEdit) -> Bool {
        edit.description == nil || edit.description ?? "" == description ?? ""
    }

    /// Whether a gist in a list, which has no texts, may be the gist that an edit creates.
    func mayHave(_ edit: GistEdit) -> Bool {
        description ?? "" == edit.description ?? ""
            && (files.count == edit.files.count || truncated == true && files.count < edit.files.count)
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
    }
}

extension Gist {
    private struct ReadableFile: Decodable {
        let file: File?

        init(from decoder: any Decoder) throws {
            // A file that cannot be read must not hide the gist.
            file = try? File(from: decoder)
        }
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let files = try container.decodeIfPresent([String: ReadableFile?].self, forKey: .files) ?? [:]
        self.init(
            id: try container.decode(String.self, forKey: .id),
            description: try container.decodeIfPresent(String.self, forKey: .description),
            isPublic: try container.decodeIfPresent(Bool.self, forKey: .isPublic) ?? false,
            files: files.compactMapValues { $0?.file },
            createdAt: try container.decodeIfPresent(String.self, forKey: .createdAt) ?? "",
            updatedAt: try container.decodeIfPresent(String.self, forKey: .updatedAt) ?? "",
            truncated: try container.decodeIfPresent(Bool.self, forKey: .truncated),
            unreadableFiles: files.filter { $0.value?.file == nil }.keys.sorted())
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
