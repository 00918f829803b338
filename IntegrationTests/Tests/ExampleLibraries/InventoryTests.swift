import AccountDocuments
import AccountKit
import Foundation
import Testing

@testable import Inventory

/// The document of `homepwner` keeps what it does not know, and an import adds every item of a file once.
struct InventoryTests {
    private static let date = Date(timeIntervalSince1970: 1_000_000)

    private static func item(_ id: String, _ name: String = "a", serial: String? = nil) throws -> Item {
        try Item(id: id, name: name, serial: serial, value: nil, createdAt: date)
    }

    // MARK: Text

    @Test(
        arguments: [
            "👩🏽‍💻", "👨‍👩‍👧‍👦 photo", "می\u{200C}خواهم", "क्\u{200D}ष", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "Dampf\u{AD}schiff", "\u{F8FF}", "\u{1FAFF}",
            "abc\u{202E}fed", "e\u{301}", " spaces ",
        ])
    func `Keeps the text of an item unchanged`(text: String) throws {
        let item = try Self.item("1", text, serial: text)
        for format in [PropertyListSerialization.PropertyListFormat.xml, .binary] {
            let encoder = PropertyListEncoder()
            encoder.outputFormat = format
            let read = try PropertyListDecoder().decode(
                Inventory<Item>.self, from: try encoder.encode(Inventory([item])))
            #expect(read.items.map { Array($0.name.utf8) } == [Array(text.utf8)])
            #expect(read.items.map { $0.serial.map { Array($0.utf8) } } == [Array(text.utf8)])
        }
    }

    @Test(arguments: ["", "two\nlines", "a\u{1B}[2Jb", "a\r", "a\u{2028}b", "a\u{FFFE}", "$null"])
    func `Refuses a name that a document would not keep`(name: String) {
        #expect(throws: AccountError.self) { try Self.item("1", name) }
    }

    @Test func `Changes an item whose name another program wrote`() throws {
        let text = """
            <plist><array><dict><key>id</key><string>1</string><key>name</key><string>two\nlines</string>\
            <key>createdAt</key><date>2026-01-01T00:00:00Z</date></dict></array></plist>
            """
        var inventory = try PropertyListDecoder().decode(Inventory<Item>.self, from: Data(text.utf8))
        try inventory.items[0].change(value: .some(3))
        #expect(inventory.items.map(\.name) == ["two\nlines"] && inventory.items[0].value == 3)
        #expect(throws: AccountError.self) { try inventory.items[0].change(name: "a\nb") }
        try inventory.items[0].change(name: "one", value: .some(nil))
        #expect(inventory.items.map(\.name) == ["one"] && inventory.items[0].value == nil)
    }

    // MARK: Values of other programs

    @Test(arguments: [
        ("<key>serial</key><integer>12</integer>", "a 12 nil"), ("<key>serial</key><string>12</string>", "a 12 nil"),
        ("<key>value</key><string>12</string>", "a nil 12"), ("<key>value</key><real>12</real>", "a nil 12"),
        ("<key>value</key><string></string>", "a nil nil"), ("<key>serial</key><string></string>", "a  nil"),
        ("<key>name</key><integer>1984</integer>", "1984 nil nil"), ("<key>id</key><integer>1</integer>", "a nil nil"),
        ("<key>createdAt</key><string>2026-01-01T00:00:00Z</string>", "a nil nil"),
        // The user must decide what these mean.
        ("<key>value</key><real>12.5</real>", nil), ("<key>value</key><string>a lot</string>", nil),
        ("<key>serial</key><true/>", nil), ("<key>createdAt</key><string>yesterday</string>", nil),
        ("<key>name</key><array/>", nil),
    ])
    func `Reads a value that another program saved as another type`(member: String, words: String?) throws {
        let members = [("id", "<string>1</string>"), ("name", "<string>a</string>"), ("createdAt", Self.dateMember)]
        let others = members.filter { !member.contains("<key>\($0.0)<") }.map { "<key>\($0.0)</key>\($0.1)" }.joined()
        let data = Data("<plist><array><dict>\(member)\(others)</dict></array></plist>".utf8)
        func text(_ name: String, _ serial: String?, _ value: Int?) -> String {
            "\(name) \(serial ?? "nil") \(value.map { "\($0)" } ?? "nil")"
        }
        let item = try? PropertyListDecoder().decode(Inventory<Item>.self, from: data).items[0]
        #expect(item.map { text($0.name, $0.serial, $0.value) } == words && item.map { $0.id == "1" } ?? true)
        let imported = try? PropertyListDecoder().decode(Inventory<ImportedItem>.self, from: data).items[0]
        #expect(imported.map { text($0.name, $0.serial, $0.value) } == words)
    }

    private static let dateMember = "<date>2026-01-01T00:00:00Z</date>"

    @Test(arguments: [
        ("two\nlines", true), ("a\tb", true), ("a\u{85}b", true), ("a\u{2028}b", true), ("👩🏽‍💻", true),
        // XML cannot contain these.
        ("a\u{1B}[2Jb", false), ("a\0b", false), ("a\rb", false), ("a\u{FFFF}", false), ("$null", false), ("", false),
    ])
    func `Imports each text that a document can keep`(name: String, isKept: Bool) throws {
        var items: [Item] = []
        let report = try? items.add([ImportedItem(name: name)], from: "f")
        #expect((report?.added == 1) == isKept && items.map(\.name) == (isKept ? [name] : []))
    }

    // MARK: Members of other programs

    private static let members =
        "<key>createdAt</key><date>2026-01-01T00:00:00Z</date><key>room</key><string>attic</string>"

    @Test(arguments: [
        "<array><dict><key>id</key><string>1</string><key>name</key><string>a</string>\(members)</dict></array>",
        """
        <dict><key>version</key><integer>2</integer><key>items</key><array><dict><key>id</key><string>1</string>\
        <key>name</key><string>a</string>\(members)</dict></array></dict>
        """,
        "<dict><key>items</key><array/><key>owner</key><dict><key>name</key><string>b</string></dict></dict>",
        "<array/>", "<dict><key>items</key><array/></dict>",
    ])
    func `Keeps members of other programs in an item and in the document`(plist: String) throws {
        func tree(_ data: Data) throws -> NSObject {
            try #require(try PropertyListSerialization.propertyList(from: data, format: nil) as? NSObject)
        }
        let data = Data("<plist>\(plist)</plist>".utf8)
        var inventory = try PropertyListDecoder().decode(Inventory<Item>.self, from: data)
        #expect(try tree(try PropertyListEncoder().encode(inventory)) == tree(data))
        inventory.items.append(try Self.item("2", "b"))
        if inventory.items.count == 2 { try inventory.items[0].change(name: "a") }
        inventory.items.removeLast()
        #expect(try tree(try PropertyListEncoder().encode(inventory)) == tree(data))
        // Sealing moves the members, too.
        var other = Inventory<Item>()
        other.merge(inventory)
        #expect(try tree(try PropertyListEncoder().encode(other)) == tree(data))
    }

    // MARK: Import

    /// A row of the table of imports: the items of the file, and the names and the ids that exist afterwards.
    struct Row: Sendable {
        let file: [(id: String?, name: String)]
        let names: [String]
        let report: ImportReport
        var keptIDs: [String] = []
        /// The items that the next import of the file adds: those without a usable ID.
        var again = 0
    }

    private static func report(added: Int, known: Int = 0, renamed: Int = 0) -> ImportReport {
        var report = ImportReport()
        (report.added, report.known, report.renamed) = (added, known, renamed)
        return report
    }

    @Test(arguments: [
        Row(file: [], names: ["old"], report: report(added: 0)),
        Row(file: [("1", "a"), ("2", "b")], names: ["old", "a", "b"], report: report(added: 2), keptIDs: ["1", "2"]),
        // Two different items with the same ID.
        Row(
            file: [("1", "a"), ("1", "b")], names: ["old", "a", "b"], report: report(added: 2, renamed: 1),
            keptIDs: ["1"]),
        Row(
            file: [("1", "a"), ("1", "b"), ("1", "c"), ("1", "b")], names: ["old", "a", "b", "c"],
            report: report(added: 3, known: 1, renamed: 2), keptIDs: ["1"]),
        // The same item twice.
        Row(file: [("1", "a"), ("1", "a")], names: ["old", "a"], report: report(added: 1, known: 1), keptIDs: ["1"]),
        Row(file: [("0", "changed")], names: ["old"], report: report(added: 0, known: 1), keptIDs: ["0"]),
        Row(
            file: [("0", "changed"), ("0", "b")], names: ["old", "b"], report: report(added: 1, known: 1, renamed: 1)),
        // Items without an ID, or with one that cannot be typed.
        Row(file: [(nil, "a"), (nil, "a")], names: ["old", "a", "a"], report: report(added: 2), again: 2),
        Row(
            file: [("a b", "a"), ("", "b"), ("ä", "c")], names: ["old", "a", "b", "c"], report: report(added: 3),
            again: 3),
    ])
    func `Imports every item of a file, and none twice`(row: Row) throws {
        var items = [try Self.item("0", "old")]
        let file = row.file.map { ImportedItem(id: $0.id, name: $0.name) }
        #expect(try items.add(file, from: "f") == row.report)
        #expect(items.map(\.name) == row.names)
        #expect(Set(items.map(\.id)).count == items.count && row.keptIDs.allSatisfy { items.map(\.id).contains($0) })
        #expect(try items.add(file, from: "f").added == row.again)
    }

    @Test func `Imports nothing if an item of the file cannot be kept`() throws {
        var items: [Item] = []
        let error = #expect(throws: AccountError.self) {
            try items.add([ImportedItem(name: "a"), ImportedItem(name: "")], from: "f.plist")
        }
        #expect(error?.message == "item 2 of f.plist: an item needs a name. Nothing was imported" && items.isEmpty)
    }

    @Test(arguments: [1000, 2000, 4000])
    func `Reads each item once during an import or a merge`(count: Int) throws {
        let items = try (0..<count).map { try Self.item("\($0)") }
        let file = (0..<count).map { ImportedItem(id: "\($0 + count / 2)", name: "b") }
        var counted = CountingItems(items)
        #expect(try counted.add(file, from: "f").added == count / 2)
        #expect(counted.reads.count <= count)
        var merged = CountingItems(items)
        merged.merge(try (0..<count).map { try Self.item("\($0)", "b") })
        #expect(merged.reads.count <= count && merged.count == 2 * count)
        #expect(Set(merged.map(\.id)).count == 2 * count)
    }
}

/// Items that count how often one of them is read.
private struct CountingItems: RangeReplaceableCollection {
    final class Reads {
        var count = 0
    }

    private var items: [Item] = []
    let reads = Reads()

    var startIndex: Int { items.startIndex }
    var endIndex: Int { items.endIndex }

    init() {}
    init(_ items: [Item]) { self.items = items }

    func index(after index: Int) -> Int { index + 1 }

    subscript(position: Int) -> Item {
        reads.count += 1
        return items[position]
    }

    mutating func replaceSubrange(_ range: Range<Int>, with new: some Collection<Item>) {
        items.replaceSubrange(range, with: new)
    }

    mutating func append(contentsOf new: some Sequence<Item>) { items.append(contentsOf: new) }
    mutating func append(_ item: Item) { items.append(item) }
}
