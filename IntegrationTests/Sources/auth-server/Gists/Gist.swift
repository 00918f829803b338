#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A gist: text files with a description.
struct Gist: Codable, Equatable, Sendable {
    /// 32 hexadecimal digits.
    let id: String
    /// The user name of the owner.
    let owner: String
    var description: String?
    let isPublic: Bool
    /// The contents of the files, by name.
    var files: [String: String]
    let createdAt: Date
    /// The date of the last change, in whole seconds, which is the precision of the API.
    var updatedAt: Date
    /// The number of the last change at the server, which orders gists that changed within the same second.
    var revision: Int

    /// Whether the gist comes before another one in a list. The gist that changed last comes first.
    func isBefore(_ other: Gist) -> Bool {
        (updatedAt, revision) > (other.updatedAt, other.revision)
    }
}

extension Date {
    /// The date rounded down to a whole second.
    var wholeSeconds: Date { Date(timeIntervalSince1970: timeIntervalSince1970.rounded(.down)) }
}

/// A list of gists.
enum GistList: Hashable, Sendable {
    case ownedBy(String)
    case starredBy(String)
    case everyPublicOne
}

/// A change that a client made, for tests to count.
///
/// It is recorded when the change happens, whether or not the client receives the response.
struct AppliedGistChange: Codable, Equatable, Sendable {
    /// The number of the request since the server was started.
    let request: Int?
    let method: String
    let gist: String
    /// The user name of the client's user.
    let user: String
    /// The time of the change by the server's clock, in seconds since 1970.
    let at: Double
    /// Whether the request changed anything. Starring a starred gist does not.
    let changed: Bool
}
