public import AccountKit

/// An account as an older app left it behind, and what could not be taken over.
public struct ImportedAccount: Sendable {
    /// The account. The service has not confirmed it: `Account.verifiedAt` is `nil`.
    public let account: Account

    /// The kind of file that it came from.
    public let format: Format

    /// One sentence for each field that was left out, with the reason, for a person.
    public let warnings: [String]
}

extension ImportedAccount {
    /// A kind of file. More may be added, so a `switch` needs a `default`.
    public struct Format: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
        /// The format as it stands in JSON output.
        public let rawValue: String

        /// A format by its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The format as it stands in JSON output.
        public var description: String { rawValue }

        /// What `NSKeyedArchiver` wrote, as a binary property list.
        public static let binaryKeyedArchive = Format(rawValue: "binaryKeyedArchive")

        /// What `NSKeyedArchiver` wrote, as an XML property list.
        public static let xmlKeyedArchive = Format(rawValue: "xmlKeyedArchive")

        /// A binary property list with the fields in a dictionary.
        public static let binaryPropertyList = Format(rawValue: "binaryPropertyList")

        /// An XML property list with the fields in a dictionary.
        public static let xmlPropertyList = Format(rawValue: "xmlPropertyList")
    }
}
