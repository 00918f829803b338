#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A gist in the format of the API.
///
/// Source: the schemas `base-gist` and `gist-simple` of https://github.com/github/rest-api-description
struct GistDocument: Sendable {
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
            "truncated": false,
        ]
    }

    /// The gist with the contents of its files.
    var whole: JSONObject {
        var document = item
        document["forks"] = []
        document["history"] = []
        document["files"] = .object(
            files { name, content in
                file(name, content).merging([
                    "content": .string(content), "truncated": false, "encoding": "utf-8",
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
        JSONObject(uniqueKeysWithValues: gist.files.map { ($0.key, .object(document($0.key, $0.value))) })
    }

    private func file(_ name: String, _ content: String) -> JSONObject {
        [
            "filename": .string(name), "type": "text/plain", "language": .null, "size": .integer(content.utf8.count),
        ]
    }
}
