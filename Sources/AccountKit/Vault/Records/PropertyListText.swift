/// The encoding of strings in the property list of an archive. `PropertyListEncoder` writes "$null" for nil, so
/// `PropertyListDecoder` decodes every string "$null" as nil, even a user name, and fails for an element or a key.
/// Therefore AccountKit writes a string of dollar signs and `null` with one more dollar sign, and removes that sign
/// when it reads the string.
enum PropertyListText {
    static func escape(_ text: String) -> String {
        dollarCount(text) > 0 ? "$" + text : text
    }

    static func unescape(_ text: String) -> String {
        dollarCount(text) > 1 ? String(text.dropFirst()) : text
    }

    /// Returns the number of dollar signs before `null`; 0 for any other text.
    private static func dollarCount(_ text: String) -> Int {
        guard text.utf8.first == UInt8(ascii: "$") else { return 0 }
        let dollars = text.utf8.prefix { $0 == UInt8(ascii: "$") }
        return text.utf8.dropFirst(dollars.count).elementsEqual("null".utf8) ? dollars.count : 0
    }
}
