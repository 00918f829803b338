import AccountKit
import Foundation
import Testing

@testable import AccountDocuments

/// A change keeps the members that the app does not know: those of other programs, or of a newer version of the app.
struct OtherKeysTests {
    private struct Note: Codable, Sendable {
        var title: String
        var others = OtherKeys()

        enum CodingKeys: CodingKey, CaseIterable { case title }

        init(title: String) { self.title = title }

        init(from decoder: any Decoder) throws {
            title = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .title)
            others = try OtherKeys(in: decoder, besides: CodingKeys.self)
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(title, forKey: .title)
            try others.encode(to: encoder)
        }
    }

    @Test(
        arguments: [
            "<string>a &amp; b 👩🏽‍💻</string>", "<string></string>", "<string>5</string>", "<string>$null</string>",
            "<integer>5</integer>", "<integer>-9223372036854775808</integer>",
            "<integer>18446744073709551615</integer>", "<real>2.5</real>", "<true/>", "<false/>",
            "<date>2026-01-01T00:00:00Z</date>", "<data>AAEC</data>", "<array/>", "<dict/>",
            "<array><integer>1</integer><string>b</string><dict><key>c</key><true/></dict></array>",
            "<dict><key>title</key><string>not that of the note</string><key></key><array/></dict>",
        ], [DocumentFormat.binary, .xml])
    func `Keeps an unknown member of any type through a change`(value: String, format: DocumentFormat) throws {
        func text(_ title: String) -> [UInt8] {
            Array("<plist><dict><key>x</key>\(value)<key>title</key><string>\(title)</string></dict></plist>".utf8)
        }
        var note = try PropertyListDocument.decode(Note.self, from: text("old"))
        note.title = "new"
        let bytes = [UInt8](try PropertyListDocument.encode(note, format: format))
        #expect(try Self.tree(bytes) == Self.tree(text("new")))
    }

    /// `plutil` writes a UID as a dictionary with only this key.
    @Test(arguments: [
        "<dict><key>CF$UID</key><integer>7</integer></dict>",
        "<array><dict><key>CF$UID</key><integer>7</integer></dict></array>",
    ])
    func `Refuses a document with a value that it cannot keep`(value: String) {
        let text = "<plist><dict><key>title</key><string>a</string><key>x</key>\(value)</dict></plist>"
        let error = #expect(throws: PropertyListDocument.Unreadable.self) {
            try PropertyListDocument.decode(Note.self, from: Array(text.utf8))
        }
        #expect(error?.reason.hasPrefix("at x") == true, "\(error?.reason ?? "")")
        #expect(error?.reason.hasSuffix("a reference (UID) of a keyed archive") == true)
    }

    @Test(arguments: [DocumentFormat.binary, .xml])
    func `Keeps the format of a document of another program`(format: DocumentFormat) async throws {
        let folder = try DocumentFolder()
        let archive = try DocumentArchive<Note>(
            "Notes", folder: folder.documents, root: folder.root, format: .xml, seal: nil, files: nil)
        try await archive.change(from: Note(title: "a")) { _ in }
        // XML contains neither fractions of seconds nor all characters.
        let isBinary = format == .binary
        let (text, date) = (isBinary ? "a\u{1}b" : "ab", Date(timeIntervalSinceReferenceDate: isBinary ? 0.5 : 1))
        let list = try PropertyListSerialization.data(
            fromPropertyList: ["title": "a", "x": text, "date": date], format: isBinary ? .binary : .xml, options: 0)
        try folder.write(list, to: folder.document)
        try await archive.change(from: Note(title: "")) { $0.title = "b" }
        let bytes = try folder.bytes(folder.document)
        #expect(DocumentFormat(of: bytes) == format)
        let saved = try #require(try Self.tree(bytes) as? [String: Any])
        #expect(saved["title"] as? String == "b" && saved["x"] as? String == text)
        #expect(saved["date"] as? Date == date)
    }

    @Test func `Saves a document that was converted to XML as binary again`() async throws {
        let folder = try DocumentFolder()
        let archive = try DocumentArchive<[Date]>(
            "Notes", folder: folder.documents, root: folder.root, format: .binary, seal: nil, files: nil)
        let dates = [Date(timeIntervalSinceReferenceDate: 1), Date(timeIntervalSinceReferenceDate: 0.5)]
        try await archive.change(from: [dates[0]]) { _ in }
        try folder.write(PropertyListDocument.encode([dates[0]], format: .xml), to: folder.document)
        try await archive.change(from: []) { $0.append(dates[1]) }
        #expect(DocumentFormat(of: try folder.bytes(folder.document)) == .binary)
        #expect(try archive.read() == dates)
    }

    @Test func `Keeps unknown members with their element when elements move`() throws {
        let text = """
            <plist><array><dict><key>title</key><string>a</string><key>x</key><integer>1</integer></dict>\
            <dict><key>title</key><string>b</string><key>x</key><integer>2</integer></dict></array></plist>
            """
        var notes = try PropertyListDocument.decode([Note].self, from: Array(text.utf8))
        notes.reverse()
        notes.insert(Note(title: "c"), at: 0)
        let bytes = [UInt8](try PropertyListDocument.encode(notes, format: .xml))
        let saved = try #require(try Self.tree(bytes) as? [[String: Any]])
        #expect(saved.map { $0["title"] as? String } == ["c", "b", "a"])
        #expect(saved.map { $0["x"] as? Int } == [nil, 2, 1])
    }

    @Test func `Keeps unknown members through a change of a document`() async throws {
        let folder = try DocumentFolder()
        let archive = try DocumentArchive<Note>(
            "Notes", folder: folder.documents, root: folder.root, format: .xml, seal: nil, files: nil)
        try await archive.change(from: Note(title: "a")) { _ in }
        let text = String(decoding: try folder.bytes(folder.document), as: UTF8.self)
        let member = "<key>x</key><array><date>2026-01-01T00:00:00Z</date></array></dict>"
        try folder.write(text.replacing("</dict>", with: member).utf8, to: folder.document)
        for title in ["b", "c"] { try await archive.change(from: Note(title: "")) { $0.title = title } }
        let saved = try #require(try Self.tree(try folder.bytes(folder.document)) as? [String: Any])
        #expect(saved["title"] as? String == "c" && saved["x"] is [Date] && saved.count == 2)
    }

    private static func tree(_ bytes: [UInt8]) throws -> NSObject {
        let tree = try PropertyListSerialization.propertyList(from: Data(bytes), format: nil)
        return try #require(tree as? NSObject)
    }
}
