import AccountSupport

/// The name of a session in a container: 1 to 64 characters of `a-z A-Z 0-9 . _ -`, without a leading dot.
public struct SessionName: Hashable, Sendable, CustomStringConvertible {
    package let rawValue: String

    /// The session that AccountKit uses if the caller specifies no session.
    public static let `default` = SessionName(unchecked: "default")

    /// Creates a name.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/invalidArgument`` if the text is not a valid name.
    public init(_ name: String) throws(AccountError) {
        guard name.isFileName(upTo: 64) else {
            throw AccountError(
                .invalidArgument,
                "\"\(name)\" is not a valid session name",
                hint: "use 1 to 64 letters, digits, dots, underscores or hyphens, and no dot at the start")
        }
        rawValue = name
    }

    private init(unchecked name: String) { rawValue = name }

    /// The name as text.
    public var description: String { rawValue }
}

extension String {
    func isFileName(upTo limit: Int) -> Bool {
        (1...limit).contains(utf8.count) && !hasPrefix(".")
            && utf8.allSatisfy { $0.isASCIIAlphanumeric || "._-".utf8.contains($0) }
    }
}
