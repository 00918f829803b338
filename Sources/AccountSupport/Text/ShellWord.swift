extension String {
    /// The text as one word of a POSIX shell, quoted if necessary, so that the user can paste a suggested command.
    package var shellWord: String {
        if !isEmpty, utf8.allSatisfy({ $0.isASCIIAlphanumeric || "/._-+:,@%=".utf8.contains($0) }) { return self }
        return "'" + split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
    }
}

extension UInt8 {
    package var isASCIIAlphanumeric: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}
