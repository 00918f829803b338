#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A gist in the format of the API.
///
/// Source: the schemas `base-gist` and `gist-simple` of https://github.com/github/rest-api-description
struct GistDocument: Sendable {
    /// The maximum number of files. Further files are omitted.
    private static let greatestFileCount = 300

    let gist: Gist
    let owner: User
    /// The service's number for the owner.
    let ownerID: Int
    let origin: Origin

    /// The gist as an item of a list, with the names of its files but without their contents.
    var item: JSONObject {
        let path = "/gists/\(gist.id)"
        return [
            "id": .string(gist.id),
            "node_id": .string("G_\(gist.id)"),
            "url": .string(origin.url(path)),
            "commits_url": .string(origin.url(path + "/commits")),
            "comments_url": .string(origin.url(path + "/comments")),
            "forks_url": .string(origin.url(path + "/forks")),
            "html_url": .string(origin.url("/\(gist.owner)/\(gist.id)")),
            "git_pull_url": .string(origin.url("/\(gist.id).git")),
            "git_push_url": .string(origin.url("/\(gist.id).git")),
            "description": gist.description.map { .string($0) } ?? .null,
            "public": .boolean(gist.isPublic),
            "created_at": .string(gist.createdAt.formatted(.iso8601)),
            "updated_at": .string(gist.updatedAt.formatted(.iso8601)),
            "comments": 0,
            "comments_enabled": true,
            "user": .null,
            "owner": ownerDocument,
            "files": .object(files(file)),
            "truncated": .boolean(gist.files.count > Self.greatestFileCount),
        ]
    }

    /// The gist with the contents of its files.
    ///
    /// - Parameter contentLimit: The maximum number of bytes of a file.
    func whole(contentLimit: Int) -> JSONObject {
        var document = item
        document["forks"] = []
        document["history"] = []
        document["files"] = .object(
            files { name, content in
                let shown = content.prefix(utf8Count: contentLimit)
                return file(name, content).merging([
                    "content": .string(shown),
                    "truncated": .boolean(shown.utf8.count < content.utf8.count),
                    "encoding": "utf-8",
                ]) { _, new in new }
            })
        return document
    }

    private var ownerDocument: JSONValue {
        [
            "login": .string(owner.username),
            "id": .integer(ownerID),
            "node_id": .string("U_\(ownerID)"),
            "avatar_url": .string(owner.picture),
            "url": .string(origin.url("/users/\(owner.username)")),
            "html_url": .string(origin.url("/\(owner.username)")),
            "type": "User",
            "site_admin": false,
        ]
    }

    private func files(_ document: (String, String) -> JSONObject) -> JSONObject {
        let shown = gist.files.sorted { $0.key < $1.key }.prefix(Self.greatestFileCount)
        return JSONObject(uniqueKeysWithValues: shown.map { ($0.key, .object(document($0.key, $0.value))) })
    }

    private func file(_ name: String, _ content: String) -> JSONObject {
        let kind = FileKind(of: name)
        return [
            "filename": .string(name),
            "type": .string(kind.mediaType),
            "language": kind.language.map { .string($0) } ?? .null,
            "raw_url": .string(origin.url("/gists-raw/\(gist.id)/\(gist.revision)/\(name.percentEncoded)")),
            "size": .integer(content.utf8.count),
        ]
    }
}

/// The type of a file, derived from its name.
private struct FileKind {
    let mediaType: String
    let language: String?

    init(of name: String) {
        switch name.split(separator: ".").last?.lowercased() {
        case "txt": (mediaType, language) = ("text/plain", "Text")
        case "md": (mediaType, language) = ("text/markdown", "Markdown")
        case "json": (mediaType, language) = ("application/json", "JSON")
        case "html": (mediaType, language) = ("text/html", "HTML")
        case "py": (mediaType, language) = ("application/x-python", "Python")
        case "sh": (mediaType, language) = ("application/x-sh", "Shell")
        case "swift": (mediaType, language) = ("text/plain", "Swift")
        default: (mediaType, language) = ("text/plain", nil)
        }
    }
}

extension String {
    /// The longest prefix with at most `limit` bytes that does not split a character.
    fileprivate func prefix(utf8Count limit: Int) -> String {
        guard utf8.count > limit, var end = utf8.index(startIndex, offsetBy: limit, limitedBy: endIndex) else {
            return self
        }
        while end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}
