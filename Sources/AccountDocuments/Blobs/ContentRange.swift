/// The byte range of a response with status 206 (RFC 9110, section 14.4).
struct ContentRange: Equatable {
    let bytes: Range<Int>

    /// The total size, or `nil` if the service does not send it.
    let total: Int?

    /// - Parameter field: The header field, such as `bytes 42-1233/1234` or `bytes 42-1233/*`.
    init?(_ field: String?) {
        guard let field else { return nil }
        let words = field.split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
        let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false).map(Self.number)
        guard ends.count == 2, let first = ends[0], let last = ends[1], first <= last else { return nil }
        guard last < Int.max else { return nil }
        bytes = first..<last + 1
        total = parts[1] == "*" ? nil : Self.number(parts[1])
        guard parts[1] == "*" || total.map({ last < $0 }) == true else { return nil }
    }

    /// Parses a number that consists only of digits.
    static func number(_ text: some StringProtocol) -> Int? {
        text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int(text) : nil
    }
}

/// An entity tag that distinguishes all versions of a blob, byte by byte (RFC 9110, section 8.8.3).
enum EntityTag {
    /// The maximum length. AccountKit does not continue a download with a longer tag.
    static let maximumByteCount = 512

    static func isStrong(_ tag: String) -> Bool {
        tag.utf8.count >= 2 && tag.hasPrefix("\"") && tag.hasSuffix("\"")
    }
}
