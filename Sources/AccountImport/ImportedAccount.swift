public import AccountKit

/// An account that was read from an older app's file, with warnings about omitted fields.
public struct ImportedAccount: Sendable {
    /// The account. The service has not confirmed it: `Account.verifiedAt` is `nil`.
    public let account: Account

    /// The format of the file.
    public let format: Format

    /// A sentence for each omitted field, with the reason.
    public let warnings: [String]
}

extension ImportedAccount {
    /// A file format. Later versions may add formats, so a `switch` needs a `default`.
    public struct Format: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
        /// The name of the format in JSON output.
        public let rawValue: String

        /// Returns the format with this name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The name of the format in JSON output.
        public var description: String { rawValue }

        /// An `NSKeyedArchiver` archive in a binary property list.
        public static let binaryKeyedArchive = Format(rawValue: "binaryKeyedArchive")

        /// An `NSKeyedArchiver` archive in an XML property list.
        public static let xmlKeyedArchive = Format(rawValue: "xmlKeyedArchive")

        /// A binary property list with the fields in a dictionary.
        public static let binaryPropertyList = Format(rawValue: "binaryPropertyList")

        /// An XML property list with the fields in a dictionary.
        public static let xmlPropertyList = Format(rawValue: "xmlPropertyList")
    }
}
