import Foundation
import NIOCore
import NIOHTTP1

/// Direct access to the gists of the example server, without a client; see the server's own `GistControlRoutes`.
extension ExampleServer {
    /// A gist as stored by the server.
    struct Gist: Decodable, Equatable, Sendable {
        let id: String
        let owner: String
        let description: String?
        let isPublic: Bool
        /// The contents of the files, by name.
        let files: [String: String]
        let createdAt: Date
        let updatedAt: Date
        /// The names of the users who have starred the gist.
        let starredBy: [String]
    }

    /// A change that the server has carried out, whether or not the client has received the response.
    struct AppliedChange: Decodable, Equatable, Sendable {
        /// The number of the request since the server was started.
        let request: Int?
        let method: String
        let gist: String
        let user: String
        let at: Date
        /// Whether the request changed anything. Starring a starred gist does not.
        let changed: Bool
    }

    /// The server's gists and changes at one moment.
    struct Gists: Decodable, Equatable, Sendable {
        /// The gists, sorted by their last change, the latest first.
        let gists: [Gist]
        let changes: [AppliedChange]

        /// The gists that a user has starred.
        func starred(by user: String) -> [Gist] { gists.filter { $0.starredBy.contains(user) } }

        /// The changes of one method, such as `POST`.
        func changes(by method: String) -> [AppliedChange] { changes.filter { $0.method == method } }
    }

    /// The gists and changes of a user, or of all users if `user` is `nil`.
    func allGists(of user: String? = nil) async throws -> Gists {
        try Self.decode(try await control(.GET, "gists" + (user.map { "?user=\($0)" } ?? "")))
    }

    func gists(of user: String = "alice") async throws -> [Gist] { try await allGists(of: user).gists }

    /// The changes that the server has carried out, in order.
    func appliedChanges() async throws -> [AppliedChange] { try await allGists().changes }

    /// Sets the maximum number of bytes of a file in a gist. The whole file is at its `raw_url`.
    func limitGistContent(to bytes: Int) async throws {
        _ = try await control(.POST, "gists-settings", ["contentLimit": JSON.integer(bytes)])
    }

    /// The number of requests by route, such as `PUT /gists/{id}/star`. `log()` lists the same requests one by one.
    func gistRequests() async throws -> [String: Int] { try Self.decode(try await control(.GET, "gists-requests")) }

    private static func decode<Value: Decodable>(_ data: Data) throws -> Value {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .secondsSince1970
        return try decoder.decode(Value.self, from: data)
    }
}

// MARK: - Another program

extension ExampleServer {
    /// Adds many gists. "Gist 1" is the oldest, and each gist is a minute older than the next.
    ///
    /// - Returns: The gists' ids, the oldest first.
    @discardableResult func seedGists(_ count: Int, isStarred: Bool = false) async throws -> [String] {
        let body: [String: JSON] = [
            "user": .text("alice"), "count": .integer(count), "isStarred": .boolean(isStarred),
        ]
        let seeded: [String: [String]] = try Self.decode(try await control(.POST, "gists-seed", body))
        return seeded["ids"] ?? []
    }

    /// Adds a gist, as another program would.
    @discardableResult func createGist(
        of user: String = "alice", description: String? = nil, isPublic: Bool = false,
        files: [String: String] = ["a.txt": "one"]
    ) async throws -> Gist {
        let body: [String: JSON] = [
            "user": .text(user), "description": description.map { .text($0) } ?? .null, "public": .boolean(isPublic),
            "files": .object(files.mapValues { .object(["content": .text($0)]) }),
        ]
        return try Self.decode(try await control(.POST, "gists", body))
    }

    /// Deletes a gist, as another program would.
    func deleteGist(_ id: String) async throws { _ = try await control(.DELETE, "gists/" + id) }

    /// Changes a gist, as another program would. The gist's new date is always later than the old date.
    ///
    /// - Parameters:
    ///   - id: The gist.
    ///   - description: The new description, or `nil` to keep it.
    ///   - files: New contents by name, where `nil` removes the file.
    @discardableResult func editGist(
        _ id: String, description: String? = nil, files: [String: String?] = [:]
    ) async throws -> Gist {
        var body: [String: JSON] = [
            "files": .object(files.mapValues { $0.map { .object(["content": .text($0)]) } ?? .null })
        ]
        body["description"] = description.map { .text($0) }
        return try Self.decode(try await control(.PATCH, "gists/" + id, body))
    }
}
