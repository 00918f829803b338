/// The implementation of a ``KeySource`` for one session.
package protocol KeyProvider: Sendable {
    /// The kind of the key. The archive has a slot for each kind of key that opens it.
    var kind: KeyKind { get }

    /// Where the user puts the key, with its preposition, such as `in ACCOUNT_KEY`; `nil`, the default, if AccountKit
    /// does not know the place.
    var place: String? { get }

    /// Returns the key without a question of AccountKit to the user.
    ///
    /// - Returns: The key; `nil` if there is no key yet, or if only the user has the key. Neither case is an error.
    /// - Throws: An ``AccountError`` if the key cannot be read, or if a setting of the source is invalid.
    func key() async throws -> ArchiveKey?

    /// Asks the user for the key.
    ///
    /// - Parameter attempt: The number of the attempt, 1 to 3. From 2 on, the previous answer did not open the archive.
    /// - Returns: The key; `nil` if the user does not have the key, which is the default.
    /// - Throws: An ``AccountError`` if the user cannot be asked, or cancels.
    func keyFromUser(attempt: Int) async throws -> ArchiveKey?

    /// Creates a key, stores the key durably and returns it, or returns the key that another process has just created.
    ///
    /// - Throws: An ``AccountError`` if the key cannot be stored, or if this source cannot create keys.
    func makeKey() async throws -> ArchiveKey
}

extension KeyProvider {
    package var place: String? { nil }

    package func keyFromUser(attempt: Int) async throws -> ArchiveKey? { nil }

    /// Whether AccountKit asks for the key before it locks the archive, so that other processes do not wait for the
    /// user or for a program.
    var asksOutside: Bool {
        switch kind {
        case .passphrase, .command: true
        case .keyFile, .environment: false
        }
    }
}
