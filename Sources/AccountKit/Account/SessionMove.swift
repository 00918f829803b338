#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// A move of a session to or from another storage.
package struct SessionMove: Sendable, Hashable {
    /// The name of the other storage, such as `etcd://a.example:2379/notes`.
    package let place: String

    /// The date when the move began.
    package let date: Date

    /// Whether the source has recorded that the move is complete. Until then, it is possible that neither storage can
    /// refresh the session. Another call of ``AccountStore/moveSession(to:named:from:)`` completes the move.
    package let isComplete: Bool

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

/// The record of a move. Both copies of the session contain this record, encrypted with the account.
struct SessionTransfer: Sendable, Hashable {
    enum Role: String, Sendable {
        /// The move has begun, and only the incoming copy at the other storage has the refresh token.
        case leaving

        case left

        case arrived
    }

    /// The identifier of the move, the same in both storages.
    let id: String

    var place: String
    let date: Date
    var role: Role
}
