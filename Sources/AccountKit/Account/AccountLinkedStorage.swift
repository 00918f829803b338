package import AccountSupport

/// Data that an app stores for the user of an account, such as lists, unsent changes and encrypted documents.
public protocol AccountLinkedStorage: Sendable {
    /// Describes the data that a sign-out would lose, such as "3 unsent changes" or "12 items that are only on this
    /// machine".
    ///
    /// - Returns: The description; `nil` if a sign-out would lose no data.
    func unsentWork() async throws -> String?

    /// Removes the data from this machine after the user has signed out.
    func remove() async
}

/// Linked storage with changes that wait to be sent, for the commands `sync`, `pending` and `resolve`.
package protocol SynchronizableStorage: AccountLinkedStorage {
    /// Returns the unsent changes in the order in which they were made.
    func unsentChanges() async throws(AccountError) -> [UnsentChange]

    /// Sends the unsent changes, including changes that wait after a failure, and then requests the stored lists.
    ///
    /// - Parameter onProgress: Called after each change with the numbers of sent and remaining changes.
    /// - Returns: The number of sent changes, and the reason if the run ended early.
    func sendChanges(
        onProgress: @escaping @Sendable (_ sent: Int, _ left: Int) -> Void
    ) async throws(AccountError) -> (sentCount: Int, problem: AccountError?)

    /// Sends a change in spite of a conflict, or drops it and requests the item from the service.
    ///
    /// - Returns: Whether there is such a change, and the reason if the item could not be requested.
    func resolve(_ id: UUID, keepingMine: Bool) async throws(AccountError) -> (isFound: Bool, problem: AccountError?)
}

/// A change that waits to be sent.
package struct UnsentChange: Sendable {
    package let id: UUID
    package let kind: String
    package let item: String
    package let state: String
    package let attempts: Int
    package let lastProblem: String?
    package let needsDecision: Bool
    package let waitsForSignIn: Bool

    package init(
        id: UUID, kind: String, item: String, state: String, attempts: Int, lastProblem: String?, needsDecision: Bool,
        waitsForSignIn: Bool
    ) {
        self.id = id
        self.kind = kind
        self.item = item
        self.state = state
        self.attempts = attempts
        self.lastProblem = lastProblem
        self.needsDecision = needsDecision
        self.waitsForSignIn = waitsForSignIn
    }
}
