import AccountKit

/// What keeps a hostile file from using up memory, time or the stack.
enum ImportLimits {
    /// Deeper than any account, and well within the stack of a thread.
    static let depth = 64

    /// Counts a value again each time that it is referred to.
    static let valueCount = 20_000
    static let keyByteCount = 256

    /// For text and data copied out of a file: more than the file only if it repeats itself.
    static let copiedByteCount = 2 * LegacyArchive.maximumByteCount
}

// `LegacyArchive` puts the file's name before these.
extension AccountError {
    /// `what` completes "It is damaged: …".
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
