extension String {
    /// The text as one word of a POSIX shell, quoted where that is needed, so that advice can be pasted.
    package var shellWord: String {
        if !isEmpty, utf8.allSatisfy({ $0.isASCIIAlphanumeric || "/._-+:,@%=".utf8.contains($0) }) { return self }
        return "'" + split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
    }
}

extension UInt8 {
    var isASCIIAlphanumeric: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}
