/// What an app keeps for an account besides it, such as lists, changes that were not sent, and sealed documents.
public protocol AccountLinkedStorage: Sendable {
    /// What signing out would lose, for a person, such as "3 changes that were not sent" or "12 items that are
    /// kept only on this machine"; `nil` if nothing.
    func unsentWork() async throws -> String?

    /// Removes all of it from this machine, after the user has signed out.
    func remove() async
}
