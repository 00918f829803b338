/// IPv6 addresses as text, so that two ways to write one address are the same host.
enum IPv6Text {
    /// The address as RFC 5952 writes it; `nil` if it is none, has a zone, or ends in an IPv4 address.
    static func canonical(_ text: Substring) -> String? {
        groups(text).map(shortest)
    }

    private static func groups(_ text: Substring) -> [UInt16]? {
        guard text.utf8.count <= 39 else { return nil }
        if let gap = text.firstRange(of: "::") {
            guard let left = list(text[..<gap.lowerBound]), let right = list(text[gap.upperBound...]),
                left.count + right.count < 8
            else { return nil }
            return left + Array(repeating: 0, count: 8 - left.count - right.count) + right
        }
        guard let groups = list(text), groups.count == 8 else { return nil }
        return groups
    }

    private static func list(_ text: Substring) -> [UInt16]? {
        if text.isEmpty { return [] }
        var groups: [UInt16] = []
        for part in text.split(separator: ":", omittingEmptySubsequences: false) {
            // Not the sign that a number may have.
            guard 1...4 ~= part.utf8.count, part.allSatisfy({ $0.isASCII && $0.isHexDigit }),
                let group = UInt16(part, radix: 16)
            else { return nil }
            groups.append(group)
        }
        return groups
    }

    /// The first of the longest runs of two zeros or more is left out.
    private static func shortest(_ groups: [UInt16]) -> String {
        var longest = 0..<0
        var start = 0
        for (index, group) in groups.enumerated() {
            guard group == 0 else {
                start = index + 1
                continue
            }
            if index + 1 - start > longest.count { longest = start..<index + 1 }
        }
        let text = { (groups: ArraySlice<UInt16>) in groups.map { String($0, radix: 16) }.joined(separator: ":") }
        guard longest.count > 1 else { return text(groups[...]) }
        return text(groups[..<longest.lowerBound]) + "::" + text(groups[longest.upperBound...])
    }
}
