#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A gist: some files of text with a description.
struct Gist: Codable, Equatable, Sendable {
    /// 32 hexadecimal digits.
    let id: String
    /// The name of the user whose it is.
    let owner: String
    var description: String?
    let isPublic: Bool
    /// What is in the files, by their names.
    var files: [String: String]
    let createdAt: Date
    /// When it was last changed, in whole seconds, which is as precisely as the API says it.
    var updatedAt: Date
    /// The number of its last change at the server, which puts gists of one second in order.
    var revision: Int

    /// Whether it comes before another one in a list: the one changed last is the first.
    func isBefore(_ other: Gist) -> Bool {
        (updatedAt, revision) > (other.updatedAt, other.revision)
    }
}

extension Date {
    /// The date without a fraction of a second.
    var wholeSeconds: Date { Date(timeIntervalSince1970: timeIntervalSince1970.rounded(.down)) }
}

/// Which gists a list has.
enum GistList: Hashable, Sendable {
    case ownedBy(String)
    case starredBy(String)
    case everyPublicOne
}

/// A change that a client made, for tests to count.
///
/// It is there as soon as the change has happened, whether or not the client hears of it.
struct AppliedGistChange: Codable, Equatable, Sendable {
    /// The number of the request: how many the server had received before since it was started.
    let request: Int?
    let method: String
    let gist: String
    /// The name of the user who made the change.
    let user: String
    /// When it happened, in seconds since 1970 by the server's clock.
    let at: Double
    /// Whether anything is different now; a star that was there before is no difference.
    let changed: Bool
}
