/// Strings as they stand in the archive's property list.
///
/// `PropertyListEncoder` writes "$null" for nil, and `PropertyListDecoder` takes every string "$null" for nil, also one
/// that a user is called by; as an element or a key it even fails. So a string of dollar signs and `null` is written
/// with one more dollar sign, and read without it.
enum PropertyListText {
    static func escape(_ text: String) -> String {
        dollarCount(text) > 0 ? "$" + text : text
    }

    static func unescape(_ text: String) -> String {
        dollarCount(text) > 1 ? String(text.dropFirst()) : text
    }

    /// How many dollar signs stand before `null`; 0 for any other text.
    private static func dollarCount(_ text: String) -> Int {
        guard text.utf8.first == UInt8(ascii: "$") else { return 0 }
        let dollars = text.utf8.prefix { $0 == UInt8(ascii: "$") }
        return text.utf8.dropFirst(dollars.count).elementsEqual("null".utf8) ? dollars.count : 0
    }
}
