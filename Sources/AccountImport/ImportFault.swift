import AccountKit

/// Why a file cannot be taken, before its name is known.
struct ImportFault: Error {
    let code: AccountError.Code
    let message: String
    var cause: (any Error)?

    /// The bytes contradict themselves. `what` completes "it is damaged: …".
    static func damaged(_ what: String) -> ImportFault {
        ImportFault(
            code: .damaged,
            message: "It is damaged: \(what). Copy it again from the old app's folder or from a backup.")
    }

    /// It is whole, and not something to import.
    static func unusable(_ message: String) -> ImportFault {
        ImportFault(code: .invalidArgument, message: message)
    }

    /// It is bigger than what is read.
    static let tooLarge = unusable(
        "It has more than \(ImportLimits.fileByteCount) bytes, too many for an account; choose the account's own file.")

    /// The error for a person, who wants to know which file.
    func accountError(about file: String) -> AccountError {
        AccountError(code, "\(file) cannot be imported. \(message)", cause: cause)
    }
}

/// What keeps a hostile file from using up memory, time or the stack.
enum ImportLimits {
    /// The largest file, in bytes.
    static let fileByteCount = 1024 * 1024

    /// How deep values may be nested. Deeper than any account, and well within the stack of a thread.
    static let depth = 64

    /// How many values a file may hold, counting a value again each time that it is referred to.
    static let valueCount = 20_000

    /// The longest key, in bytes.
    static let keyByteCount = 256

    /// How much text and data is copied out of a file, in bytes; more than the file only if it repeats itself.
    static let copiedByteCount = 2 * fileByteCount
}
