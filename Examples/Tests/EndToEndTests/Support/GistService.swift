import Foundation
import NIOCore
import NIOHTTP1

/// The gists at the example server, seen and changed past every client; see the server's own `GistControlRoutes`.
extension ExampleServer {
    /// A gist as it really is.
    struct Gist: Decodable, Equatable, Sendable {
        let id: String
        let owner: String
        let description: String?
        let isPublic: Bool
        /// What is in the files, by their names.
        let files: [String: String]
        let createdAt: Date
        let updatedAt: Date
        /// The names of those who have starred it.
        let starredBy: [String]
    }

    /// A change that a client made, whether or not it has heard of that.
    struct AppliedChange: Decodable, Equatable, Sendable {
        /// The number of the request among all since the server was started.
        let request: Int?
        let method: String
        let gist: String
        let user: String
        let at: Date
        /// Whether anything is different now; a star that was there before is no difference.
        let changed: Bool
    }

    /// What there was at one moment.
    struct Gists: Decodable, Equatable, Sendable {
        /// The one changed last is the first.
        let gists: [Gist]
        let changes: [AppliedChange]

        /// The gists that a user has starred.
        func starred(by user: String) -> [Gist] { gists.filter { $0.starredBy.contains(user) } }

        /// The changes of one method, such as `POST`.
        func changes(by method: String) -> [AppliedChange] { changes.filter { $0.method == method } }
    }

    /// A user's gists and changes, or everyone's.
    func allGists(of user: String? = nil) async throws -> Gists {
        try Self.decode(try await control(.GET, "gists" + (user.map { "?user=\($0)" } ?? "")))
    }

    func gists(of user: String = "alice") async throws -> [Gist] { try await allGists(of: user).gists }

    /// What clients have changed, in order.
    func appliedChanges() async throws -> [AppliedChange] { try await allGists().changes }

    /// How many requests there were, by routes such as `PUT /gists/{id}/star`; `log()` has the same requests one by one.
    func gistRequests() async throws -> [String: Int] { try Self.decode(try await control(.GET, "gists-requests")) }

    private static func decode<Value: Decodable>(_ data: Data) throws -> Value {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .secondsSince1970
        return try decoder.decode(Value.self, from: data)
    }
}

// MARK: - Another program

extension ExampleServer {
    /// Adds many gists: "Gist 1" is the oldest, and each is a minute older than the next.
    ///
    /// - Parameter bytes: About how long their one file is.
    /// - Returns: Their ids, the oldest first.
    @discardableResult func seedGists(
        _ count: Int, of user: String = "alice", name: String = "Gist", bytes: Int = 64, isPublic: Bool = false,
        isStarred: Bool = false
    ) async throws -> [String] {
        let body: [String: JSON] = [
            "user": .text(user), "count": .integer(count), "name": .text(name), "bytes": .integer(bytes),
            "isPublic": .boolean(isPublic), "isStarred": .boolean(isStarred),
        ]
        // A hundred thousand of them take the server a while.
        let seeded: [String: [String]] = try Self.decode(
            try await control(.POST, "gists-seed", body, timeout: .minutes(4)))
        return seeded["ids"] ?? []
    }

    /// Adds a gist as another program would.
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

    /// Changes a gist as another program would. Its date is later than before, however soon that is.
    ///
    /// - Parameters:
    ///   - id: The gist.
    ///   - description: The new one; `nil` for the one it has.
    ///   - files: New contents by name; `nil` in place of one removes the file.
    @discardableResult func editGist(
        _ id: String, description: String? = nil, files: [String: String?] = [:]
    ) async throws -> Gist {
        var body: [String: JSON] = [
            "files": .object(files.mapValues { $0.map { .object(["content": .text($0)]) } ?? .null })
        ]
        body["description"] = description.map { .text($0) }
        return try Self.decode(try await control(.PATCH, "gists/" + id, body))
    }

    func deleteGist(_ id: String) async throws { _ = try await control(.DELETE, "gists/" + id) }

    /// Stars a gist for a user, or takes the star away.
    func setStar(_ isStarred: Bool, _ id: String, by user: String = "alice") async throws {
        let body: [String: JSON] = ["user": .text(user), "starred": .boolean(isStarred)]
        _ = try await control(.POST, "gists/\(id)/star", body)
    }

    /// How the gists API behaves; see the server's own type of this name.
    struct GistSettings: Encodable, Sendable {
        var challenges = false
        var etagsByToken = false
        var weakETags = true
        var rateLimit = 5000
        /// How many seconds apart a user's changes must be.
        var changeInterval = 0.0
        var contentLimit = 1_000_000
    }

    /// Sets all of the settings: what is left out is as it was at first.
    func set(_ settings: GistSettings) async throws { _ = try await control(.POST, "gists-settings", settings) }
}
