import Foundation

/// The JSON of a gist. A member of an unexpected form hides neither the other members nor the other gists of a list: it counts as
/// missing.
extension Gist: Codable {
    enum CodingKeys: String, CodingKey {
        case id, description, files, truncated
        case isPublic = "public"
        case createdAt = "created_at"
        case updatedAt = "updated_at"
    }

    private struct ReadableFile: Decodable {
        let file: File?

        init(from decoder: any Decoder) throws { file = try? File(from: decoder) }
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let files = try Self.files(in: container)
        self.init(
            id: try container.identifier(forKey: .id),
            description: container.readable(String.self, forKey: .description),
            isPublic: container.readable(Bool.self, forKey: .isPublic) ?? false,
            files: [:],
            createdAt: container.readable(String.self, forKey: .createdAt) ?? "",
            updatedAt: container.readable(String.self, forKey: .updatedAt) ?? "",
            truncated: container.readable(Bool.self, forKey: .truncated),
            unreadableFiles: files.filter { $0.value?.file == nil }.keys.sorted())
        for (name, readable) in files {
            guard var file = readable?.file else { continue }
            if file.filename.isEmpty { file.filename = name }
            self.files[name] = file
        }
    }

    private static func files(
        in container: KeyedDecodingContainer<CodingKeys>
    ) throws -> [String: ReadableFile?] {
        do {
            return try container.decodeIfPresent([String: ReadableFile?].self, forKey: .files) ?? [:]
        } catch {
            // Some services encode an object without members as an array.
            if let list = try? container.nestedUnkeyedContainer(forKey: .files), list.isAtEnd { return [:] }
            throw error
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encodeIfPresent(description, forKey: .description)
        try container.encode(isPublic, forKey: .isPublic)
        try container.encode(createdAt, forKey: .createdAt)
        try container.encode(updatedAt, forKey: .updatedAt)
        try container.encodeIfPresent(truncated, forKey: .truncated)
        var files: [String: File?] = files
        for name in unreadableFiles { files.updateValue(nil, forKey: name) }
        try container.encode(files, forKey: .files)
    }
}

extension Gist.File {
    enum CodingKeys: String, CodingKey {
        case filename, size, content, truncated, encoding
        case rawURL = "raw_url"
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let size =
            container.readable(Int.self, forKey: .size)
            ?? container.readable(String.self, forKey: .size).flatMap { Int($0) }
        // `base64` is no text. The file itself is at `raw_url`.
        let isText = container.readable(String.self, forKey: .encoding) != "base64"
        self.init(
            filename: container.readable(String.self, forKey: .filename) ?? "",
            size: size.flatMap { $0 < 0 ? nil : $0 },
            content: isText ? container.readable(String.self, forKey: .content) : nil,
            truncated: container.readable(Bool.self, forKey: .truncated),
            rawURL: container.readable(String.self, forKey: .rawURL))
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(filename, forKey: .filename)
        try container.encodeIfPresent(size, forKey: .size)
        try container.encodeIfPresent(content, forKey: .content)
        try container.encodeIfPresent(truncated, forKey: .truncated)
        try container.encodeIfPresent(rawURL, forKey: .rawURL)
    }
}

extension KeyedDecodingContainer {
    /// A value, or `nil` if it is missing or has another form, such as a number that is too large.
    func readable<Value: Decodable>(_ type: Value.Type, forKey key: Key) -> Value? { try? decode(type, forKey: key) }

    /// An ID, which some services send as a number.
    func identifier(forKey key: Key) throws -> String {
        if let number = readable(Int.self, forKey: key) { return String(number) }
        return try decode(String.self, forKey: key)
    }
}
