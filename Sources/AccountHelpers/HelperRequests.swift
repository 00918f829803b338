import AccountKit
import AccountSupport

/// A request of a program for a token.
struct HelperRequest: Codable, Equatable {
    /// The process that asks.
    var program: Int32

    /// The server for which it asks.
    var place: String

    var session: String

    /// The date when the token was issued, in seconds since 1970. It identifies the token.
    var issuedAt: Double
}

/// The last requests of programs, to recognize that a server has refused a token.
///
/// Programs on client-go, such as kubectl, keep a token until it expires or the server answers with 401. Then the same
/// process runs the helper again for the same server, and says nothing more. Without this record the helper would return the
/// refused token again, and the session would not be renewed before its token expires. Other programs ask for each
/// connection. For these, AccountKit sends the token to the server, and renews it after a 401 response.
struct HelperRequests: Codable {
    /// The age in seconds from which a refused token is renewed. A server that refuses a newer token refuses it for another
    /// reason.
    static let minimumAge = 60.0

    private static let limit = 64

    private(set) var requests: [HelperRequest] = []

    /// Adds a request, and returns whether the same process has got the same token for the same server before.
    mutating func note(_ request: HelperRequest) -> Bool {
        if requests.contains(request) { return true }
        // A new token, or a new process with the same number.
        requests.removeAll { ($0.program, $0.place, $0.session) == (request.program, request.place, request.session) }
        requests.append(request)
        requests = requests.suffix(Self.limit)
        return false
    }

    /// Adds a request to the record of a container, which contains no secret.
    static func note(_ request: HelperRequest, in container: AppContainer) async throws -> Bool {
        let entry = ArchiveEntry(rawValue: "Requests.plist")
        let storage = FileArchiveStorage(folder: container.cachesPath, in: container)
        return try await storage.withTransaction(timeout: .seconds(2)) { transaction in
            let stored = try await transaction.read(entry)
            // A record that cannot be read is replaced: it is only a cache.
            var requests =
                stored.flatMap { try? PropertyListDecoder().decode(Self.self, from: Data($0.bytes)) } ?? Self()
            let before = requests.requests
            let isRepeated = requests.note(request)
            if requests.requests != before {
                let bytes = [UInt8](try PropertyListEncoder().encode(requests))
                _ = try await transaction.replace(entry, with: bytes, ifRevision: stored?.revision)
            }
            return isRepeated
        }
    }
}
