import Foundation

extension Gist {
    /// A file of a gist.
    struct File: Codable, Sendable, Hashable {
        var filename: String
        /// The number of bytes of the whole file.
        var size: Int?
        var content: String?
        /// Whether `content` is only the beginning of the file.
        var truncated: Bool?
        /// The address of the whole text, which may be relative to that of the gist.
        var rawURL: String?

        /// Whether `content` is the whole text of the file.
        var isWhole: Bool {
            guard let content else { return false }
            return truncated != true && (size ?? content.utf8.count) == content.utf8.count
        }

        /// What is missing, such as "this is only the first 1000000 of 1600000 bytes of a.txt"; `nil` if the file is whole.
        func gap(_ name: String) -> String? {
            guard !isWhole else { return nil }
            guard let content else { return "the text of \(name) is not stored here" }
            let count = content.utf8.count
            if let size, count > size { return "the text of \(name) has \(count) bytes instead of \(size)" }
            return "this is only the first \(count)" + (size.map { " of \($0)" } ?? "") + " bytes of \(name)"
        }

        /// Whether a text has the size of the file, and begins like the file. A text from another server, such as the page of a
        /// captive portal, has not. `nil` if neither the size nor the beginning is known.
        func mayBe(_ text: String) -> Bool? {
            if let size, size != text.utf8.count { return false }
            let beginning = Self.comparable(content ?? "", isCut: true)
            if size == nil, beginning.isEmpty { return nil }
            return Self.comparable(text, isCut: false).starts(with: beginning)
        }

        /// The bytes of a text without a byte order mark, and without characters that the service has cut (U+FFFD).
        private static func comparable(_ text: String, isCut: Bool) -> Substring.UTF8View {
            var scalars = text.unicodeScalars[...]
            if scalars.first == "\u{FEFF}" { scalars.removeFirst() }
            while isCut, scalars.last == "\u{FFFD}" { scalars.removeLast() }
            return Substring(scalars).utf8
        }

        /// Whether the address contains a hash of the text, so that it always leads to the same text.
        var hasPermanentURL: Bool {
            rawURL?.split(separator: "/").contains { $0.count >= 40 && $0.allSatisfy(\.isHexDigit) } ?? false
        }
    }
}
