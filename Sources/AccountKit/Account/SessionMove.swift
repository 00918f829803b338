#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A move of a session to or from another storage.
public struct SessionMove: Sendable, Hashable {
    /// The name of the other storage, such as `etcd://a.example:2379/notes`.
    public let place: String

    /// When the move began.
    public let date: Date

    /// Whether the move is complete. Until then no program can refresh the session, and another call completes the move.
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

/// The record of a move, which both copies of the session have, encrypted with the account.
struct SessionTransfer: Sendable, Hashable {
    enum Role: String, Sendable {
        /// The session is leaving: only the incoming copy at the other storage has the refresh token.
        case leaving

        /// The session has left: the other storage has it.
        case left

        /// The session came from the other storage.
        case arrived
    }

    /// The identifier of the move, the same in both storages.
    let id: String

    /// The name of the other storage.
    var place: String
    let date: Date
    var role: Role
}
