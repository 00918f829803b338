import AccountKit
import Foundation
import Testing

@testable import AccountDocuments

struct PropertyListDocumentTests {
    private struct Everything: Codable, Equatable {
        var text = "Bär"
        var number = -5
        var real = 0.5
        var flag = true
        var date = Date(timeIntervalSinceReferenceDate: 1)
        var data = Data([1, 2, 3])
        var list = ["a", "b"]
        var table = ["k": ["x": 1]]
    }

    @Test(arguments: [DocumentFormat.binary, .xml])
    func `Encodes and decodes all value types of a property list unchanged`(format: DocumentFormat) throws {
        let bytes = [UInt8](try PropertyListDocument.encode(Everything(), format: format))
        #expect(try PropertyListDocument.decode(Everything.self, from: bytes) == Everything())
    }

    @Test(arguments: [DocumentFormat.binary, .xml])
    func `Decodes a property list with any flipped bit to a value or an error`(format: DocumentFormat) throws {
        let bytes = [UInt8](try PropertyListDocument.encode(Everything(), format: format))
        var failures = 0
        for index in bytes.indices {
            for bit in 0..<8 {
                var changed = bytes
                changed[index] ^= 1 << bit
                do { _ = try PropertyListDocument.decode(Everything.self, from: changed) } catch { failures += 1 }
            }
        }
        #expect(failures > bytes.count)
    }

    @Test(arguments: [DocumentFormat.binary, .xml])
    func `Rejects any truncated property list document`(format: DocumentFormat) throws {
        let bytes = [UInt8](try PropertyListDocument.encode(Everything(), format: format))
        let end = format == .xml ? bytes.count - "</plist>\n".utf8.count : bytes.count
        for count in 0..<end {
            #expect(throws: (any Error).self, "\(count)") {
                try PropertyListDocument.decode(Everything.self, from: Array(bytes.prefix(count)))
            }
        }
    }

    @Test func `Rejects a property list whose nesting would exhaust the stack`() throws {
        let count = 20_000
        // Texts that may hide a tag from the check, but not from the decoder: before the arrays, and in each array.
        let hidings = [
            ("", ""), ("", "<!-- </array> -->"), ("", "<![CDATA[</array>]]>"), ("", "<!--></array>-->"),
            ("", "<?x </array> ?>"), ("", "<?></array> ?>"), ("<?x <!-- ?>", ""), ("<!DOCTYPE plist \"<!--\">", ""),
            ("<!DOCTYPE plist [<!-- ]>", ""), ("<!DOCTYPE plist [<!ENTITY a \"<!--\">]>", ""),
            ("", "<a b=\"</array>\">"),
        ]
        for (beginning, comment) in hidings {
            let deep =
                beginning + "<plist>" + String(repeating: "<array>" + comment, count: count)
                + String(repeating: "</array>", count: count) + "</plist>"
            let encodings =
                [Array(deep.utf8)] + [.utf16, .utf16LittleEndian, .utf32].map { [UInt8](deep.data(using: $0)!) }
            for bytes in encodings {
                #expect(throws: PropertyListDocument.Unreadable.self, "\(beginning)\(comment)") {
                    try PropertyListDocument.decode([String].self, from: bytes)
                }
            }
        }
        let repetitions = [
            ("", "<plist>"), ("<plist><array><?>", "<array>"), ("<plist><dict><?>", "<key>a</key><dict>"),
        ]
        for (beginning, element) in repetitions {
            let text = beginning + String(repeating: element, count: 10 * count)
            #expect(throws: PropertyListDocument.Unreadable.self, "\(beginning)\(element)") {
                try PropertyListDocument.decode([String].self, from: Array(text.utf8))
            }
        }
        // An array that contains itself.
        let loop: [UInt8] =
            Array("bplist00".utf8) + [0xA1, 0, 8] + [0, 0, 0, 0, 0, 0, 1, 1]
            + [0, 0, 0, 0, 0, 0, 0, 1] + [0, 0, 0, 0, 0, 0, 0, 0] + [0, 0, 0, 0, 0, 0, 0, 10]
        #expect(throws: PropertyListDocument.Unreadable.self) {
            try PropertyListDocument.decode([String].self, from: loop)
        }
    }

    @Test(arguments: [
        "<dict/>", "<array/>", "<dict></dict>", "<array />", "<dict ><key>a</key><array/></dict>",
        "<!-- <array> --><array/>", "<?x <array> ?><dict/>", "<string><![CDATA[<array>]]></string>",
        "<string>&lt;array></string>",
    ])
    func `Decodes a list with any number of empty collections`(element: String) throws {
        let list = "<plist version=\"1.0\"><array>" + String(repeating: element, count: 1000) + "</array></plist>"
        #expect(try PropertyListDocument.decode([Anything].self, from: Array(list.utf8)).count == 1000)
    }

    private struct Anything: Decodable {
        init(from decoder: any Decoder) {}
    }

    @Test(arguments: [
        ("", "it is not a property list"), (#"[{"name": "<"}]"#, "it is not a property list"),
        ("name,serial\na,b\n", "it is not a property list"), ("( a, <00> )", "it is not a property list"),
        ("<html>canary</html>", "it is not a valid property list"),
        ("<plist><array><strng>canary</strng></array></plist>", "it is not a valid property list"),
        ("<plist><array><integer>canary</integer></array></plist>", "at 1: a value has the wrong type"),
        ("<plist><dict/></plist>", "a value has the wrong type"),
        ("<plist><plist><array/></plist></plist>", "it contains more than one property list: keep only one"),
        (
            "<plist><array/></plist>\n<plist version=\"1.0\"><array/></plist>",
            "it contains more than one property list: keep only one"
        ),
        ("<plist><array><?></array></plist>", "it has an empty processing instruction: remove `<?>` from it"),
        (
            "<plist><dict><key>a</key><true/><key>a</key><false/></dict></plist>",
            "two keys of a dictionary are equal, or differ only in their Unicode form"
        ),
        (
            "<plist><array><dict><key>\u{E9}</key><true/><key>e\u{301}</key><true/></dict></array></plist>",
            "two keys of a dictionary are equal, or differ only in their Unicode form"
        ),
    ])
    func `Says what is wrong with a property list, without its content`(text: String, reason: String) {
        let error = #expect(throws: PropertyListDocument.Unreadable.self) {
            try PropertyListDocument.decode([String].self, from: Array(text.utf8))
        }
        #expect(error?.reason == reason)
    }

    @Test func `Decodes dictionaries whose keys differ from each other`() throws {
        let list = """
            <plist><array><dict><key>a</key><dict><key>a</key><array><dict><key>a</key><true/></dict></array></dict>\
            <key>b</key><true/><key></key><true/></dict><dict><key>a</key><true/></dict></array></plist>
            """
        #expect(try PropertyListDocument.decode([Anything].self, from: Array(list.utf8)).count == 2)
    }

    @Test(arguments: [
        ("<key>a&amp;b</key>", "<key>a&#38;b</key>"), ("<key>A</key>", "<key>&#x41;</key>"),
        ("<key>&lt;&gt;&quot;&apos;</key>", "<key>&#60;&#x3E;&#x22;&#39;</key>"),
        ("<key >a</key>", "<key>a</key>"), ("<key\n>a</key>", "<key>a</key>"),
        ("<key x=\"1\">a</key>", "<key>a</key >"), ("<key/>a</key>", "<key>a</key>"),
        ("<key>a\r\nb</key>", "<key>a\nb</key>"), ("<key>a\rb</key>", "<key>a&#10;b</key>"),
        ("<key>e&#x301;</key>", "<key>\u{E9}</key>"),
    ])
    func `Refuses two keys that the decoder reads as one key`(one: String, other: String) throws {
        let (first, second) = (one + "<true/>", other + "<false/>")
        for list in ["<dict>\(first)\(second)</dict>", "<dict><key>x</key><dict>\(second)\(first)</dict></dict>"] {
            let error = #expect(throws: PropertyListDocument.Unreadable.self) {
                try PropertyListDocument.decode(Anything.self, from: Array("<plist>\(list)</plist>".utf8))
            }
            #expect(error?.reason.hasPrefix("two keys of a dictionary are equal") == true)
        }
        for key in [one, other] {
            let list = "<plist><dict>\(key)<true/></dict></plist>"
            #expect(try PropertyListDocument.decode([String: Bool].self, from: Array(list.utf8)).count == 1)
        }
    }

    @Test(arguments: [
        ("<![CDATA[x]]>", "a CDATA section or a comment"), ("a<![CDATA[x]]>b", "a CDATA section or a comment"),
        ("a<!-- b -->", "a CDATA section or a comment"), ("&canary;", "an unknown entity"),
        ("a&amp", "an unknown entity"), ("&#xD800;", "an unknown entity"), ("& ;", "an unknown entity"),
    ])
    func `Refuses a key whose text it cannot compare`(key: String, part: String) throws {
        let list = "<plist><dict><key>\(key)</key><true/></dict></plist>"
        let error = #expect(throws: PropertyListDocument.Unreadable.self) {
            try PropertyListDocument.decode(Anything.self, from: Array(list.utf8))
        }
        #expect(error?.reason.hasPrefix("a key contains \(part): convert the file") == true)
    }

    @Test(arguments: [DocumentFormat.binary, .xml])
    func `Saves and reads keys with any character of XML`(format: DocumentFormat) throws {
        let keys = [
            "", "a&b", "a&amp;b", "&#38;", "<![CDATA[x]]>", "</key>", "\"'", "a\rb", "a\nb", "a\r\nb", "\u{E9}",
        ]
        let value = Dictionary(uniqueKeysWithValues: keys.enumerated().map { ($1, $0) })
        let bytes = [UInt8](try PropertyListDocument.encode(value, format: format))
        #expect(try PropertyListDocument.decode([String: Int].self, from: bytes) == value)
    }

    /// Python's `plistlib` writes such lists. `objects` are the values, and `offsets` their positions.
    @Test(arguments: [
        // {"a": UID 3}
        (
            [0xD1, 1, 2, 0x51, 0x61, 0x80, 3], [8, 11, 13],
            "it contains a reference (UID), which only keyed archives may contain"
        ),
        // {"é": true, "é": true}, composed and decomposed
        (
            [0xD2, 1, 2, 3, 3, 0x61, 0, 0xE9, 0x62, 0, 0x65, 3, 1, 9], [8, 13, 16, 21],
            "two keys of a dictionary are equal, or differ only in their Unicode form"
        ),
    ])
    func `Refuses a binary list that it could not save whole`(
        objects: [UInt8], offsets: [UInt8], reason: String
    ) {
        let trailer: [UInt8] =
            [0, 0, 0, 0, 0, 0, 1, 1] + [0, 0, 0, 0, 0, 0, 0, UInt8(offsets.count)] + [0, 0, 0, 0, 0, 0, 0, 0]
            + [0, 0, 0, 0, 0, 0, 0, UInt8(8 + objects.count)]
        let error = #expect(throws: PropertyListDocument.Unreadable.self) {
            try PropertyListDocument.decode(Anything.self, from: "bplist00".utf8 + objects + offsets + trailer)
        }
        #expect(error?.reason == reason)
    }

    /// XML 1.0, section 2.11
    @Test(arguments: [
        ("a&#13;b&#xD;&#10;c", "a\rb\r\nc"), ("a\r\nb\rc\n", "a\nb\nc\n"), ("\r\r\n", "\n\n"),
    ])
    func `Reads and writes the ends of lines of XML like other programs`(text: String, value: String) throws {
        let list = "<plist>\r\n<array>\r<string>\(text)</string></array></plist>"
        let read = try PropertyListDocument.decode([String].self, from: Array(list.utf8))
        #expect(read == [value] && read[0].utf8.elementsEqual(value.utf8))
        let written = String(decoding: try PropertyListDocument.encode(read, format: .xml), as: UTF8.self)
        #expect(!written.utf8.contains(0x0D))
        let again = try PropertyListDocument.decode([String].self, from: Array(written.utf8))
        #expect(again.first?.utf8.elementsEqual(value.utf8) == true)
    }

    @Test(arguments: ["a\u{1}b", "\u{0}", "\u{FFFE}", "\u{FFFF}"])
    func `Saves characters that XML cannot contain only in a binary list`(text: String) throws {
        let error = #expect(throws: AccountError.self) { try PropertyListDocument.encode([text], format: .xml) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.hasSuffix("a text contains a control character") == true)
        let bytes = [UInt8](try PropertyListDocument.encode([text], format: .binary))
        #expect(try PropertyListDocument.decode([String].self, from: bytes) == [text])
        #expect(throws: Never.self) { try PropertyListDocument.encode(["\u{FFFD}\u{10000}\t\u{85}"], format: .xml) }
    }

    @Test func `Names the encoding of a property list that is not UTF-8`() {
        let list = "<plist><array><string>é</string></array></plist>"
        for encoding in [String.Encoding.utf16, .utf16LittleEndian, .isoLatin1] {
            let error = #expect(throws: PropertyListDocument.Unreadable.self) {
                try PropertyListDocument.decode([String].self, from: [UInt8](list.data(using: encoding)!))
            }
            #expect(error?.reason == "it is not UTF-8: save it with this encoding")
        }
        #expect(
            (try? PropertyListDocument.decode([String].self, from: [0xEF, 0xBB, 0xBF] + Array(list.utf8))) == ["é"])
    }
}
