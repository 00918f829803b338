import AccountKit

/// The limits that prevent a hostile file from exhausting memory, time or the stack.
enum ImportLimits {
    /// The maximum depth of nested values, which is deeper than any account and well within the stack of a thread.
    static let depth = 64

    /// The maximum number of values. A value counts each time that the archive refers to it.
    static let valueCount = 20_000
    static let keyByteCount = 256

    /// The maximum number of bytes to copy. This number exceeds the size of a file only if the file contains repeated
    /// references.
    static let copiedByteCount = 2 * LegacyArchive.maximumByteCount
}

// `LegacyArchive` prefixes these messages with the name of the file.
extension AccountError {
    /// Returns the error for a damaged file. `what` completes the sentence "It is damaged: …".
    static func damaged(_ what: String) -> AccountError {
        AccountError(.damaged, "It is damaged: \(what). Copy it again from the old app's folder or from a backup.")
    }

    static func unusable(_ message: String) -> AccountError {
        AccountError(.invalidArgument, message)
    }

    static let tooLarge = unusable(
        """
        It has more than \(LegacyArchive.maximumByteCount) bytes, too many for an account; \
        choose the account's own file.
        """)

    func naming(_ file: String) -> AccountError {
        AccountError(code, "\(file) cannot be imported. \(message)", cause: cause)
    }
}
