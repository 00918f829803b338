#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Where a session was moved to, or comes from.
public struct SessionMove: Sendable, Hashable {
    /// The other place, as whoever moved the session named it, such as `etcd://a.example:2379/notes`.
    public let place: String

    /// When the move was begun.
    public let date: Date

    /// Whether it was completed. Until then nobody can refresh the session, and moving it again completes it.
    public let isComplete: Bool

    /// - Returns: `nil` for a session that is not gone.
    init?(leaving transfer: SessionTransfer) {
        guard transfer.role != .arrived else { return nil }
        self.init(transfer, isComplete: transfer.role == .left)
    }

    init(_ transfer: SessionTransfer, isComplete: Bool) {
        place = transfer.place
        date = transfer.date
        self.isComplete = isComplete
    }
}

/// What both copies of a session that is moved remember of it, sealed with the account.
struct SessionTransfer: Sendable, Hashable {
    enum Role: String, Sendable {
        /// The session is going: its refresh token is only in the copy that waits at the other place.
        case leaving

        /// It is gone: the other place has it.
        case left

        /// It is here, and came from the other place.
        case arrived
    }

    /// Tells one move from all others; the same at both places.
    let id: String

    /// The other one.
    var place: String
    let date: Date
    var role: Role
}
