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
