import AccountImport
import AccountKit
import Foundation
import Testing

@Suite("Inconsistent keyed archives")
struct HostileArchiveTests {
    private static let account = """
        <dict><key>$class</key>\(Legacy.uid(2))<key>token</key>\(Legacy.uid(3))<key>id</key><integer>8</integer>
        <key>extra</key>\(Legacy.uid(4))</dict>
        \(Legacy.classObject("JFAccountModel"))<string>\(Legacy.canary)</string>
        """

    /// An archive of an account whose field `extra` is the first of `objects`, with index 4.
    private static func archive(extra objects: String) -> Data {
        Legacy.xmlArchive(objects: account + objects)
    }

    private static func list(of places: [Int], className place: Int) -> String {
        """
        <dict><key>$class</key>\(Legacy.uid(place))
        <key>NS.objects</key><array>\(places.map(Legacy.uid).joined())</array></dict>
        """
    }

    @Test("Reads the other account fields of an archive with an extra field")
    func readsBase() throws {
        #expect(try Legacy.read(Self.archive(extra: "<string>x</string>")).account.profile == ["extra": "x"])
    }

    @Test("Rejects a keyed archive with a list that contains itself")
    func refusesCycle() {
        let direct = Self.list(of: [4], className: 5) + Legacy.classObject("NSArray")
        let error = Legacy.refusal(of: Self.archive(extra: direct))
        #expect(error?.code == .damaged)
        #expect(error?.description.contains("contains itself") == true)
        #expect(error?.description.contains("Copy it again") == true)

        let indirect =
            Self.list(of: [6], className: 5) + Legacy.classObject("NSArray") + Self.list(of: [4], className: 5)
        #expect(Legacy.refusal(of: Self.archive(extra: indirect))?.code == .damaged)
    }

    @Test("Omits a field that refers to the account itself")
    func leavesOutItself() throws {
        let objects = Self.account.replacingOccurrences(of: "<integer>4</integer>", with: "<integer>1</integer>")
        let imported = try Legacy.read(Legacy.xmlArchive(objects: objects))
        #expect(imported.account.id == "8")
        #expect(imported.warnings.count == 1)
    }

    @Test("Rejects a keyed archive with deeply nested objects")
    func refusesDepth() {
        let lists = (0..<2000).map { Self.list(of: [$0 + 6], className: 5) }
        let objects = Self.list(of: [6], className: 5) + Legacy.classObject("NSArray") + lists.joined()
        #expect(Legacy.refusal(of: Self.archive(extra: objects))?.code == .damaged)
    }

    @Test("Rejects a keyed archive that expands without limit, in a short time")
    func refusesGrowth() {
        let lists = (0..<40).map { Self.list(of: [$0 + 7, $0 + 7], className: 5) }
        let objects =
            Self.list(of: [6], className: 5) + Legacy.classObject("NSArray") + lists.joined() + "<string>x</string>"
        #expect(Legacy.refusal(of: Self.archive(extra: objects))?.code == .damaged)
    }

    @Test("Rejects a keyed archive with many references to a long text")
    func refusesRepetition() {
        let objects =
            Self.list(of: Array(repeating: 6, count: 200), className: 5) + Legacy.classObject("NSArray")
            + "<string>\(String(repeating: "x", count: 100_000))</string>"
        #expect(Legacy.refusal(of: Self.archive(extra: objects))?.code == .damaged)
    }

    @Test(
        "Rejects a keyed archive with a dangling reference",
        arguments: [5, 1_000_000, Int(Int32.max), -1, Int(UInt32.max), Int.max])
    func refusesWrongReferences(place: Int) {
        let objects = Self.list(of: [place], className: 5)
        #expect(Legacy.refusal(of: Self.archive(extra: objects))?.code == .damaged)
        let root = "<key>root</key>\(Legacy.uid(place == 5 ? 99 : place))"
        #expect(Legacy.refusal(of: Legacy.xmlArchive(objects: Self.account, top: root))?.code == .damaged)
    }

    @Test(
        "Rejects a keyed archive with a malformed object",
        arguments: [
            "<dict/>", "<array/>", "<dict><key>$class</key><integer>5</integer></dict>",
            "<dict><key>$class</key>\(Legacy.uid(0))</dict>", "<dict><key>$class</key>\(Legacy.uid(4))</dict>",
            "<dict><key>$class</key>\(Legacy.uid(3))</dict>", Legacy.uid(3),
            "<dict><key>$class</key>\(Legacy.uid(5))</dict><dict><key>$classname</key><integer>1</integer></dict>",
            """
            <dict><key>$class</key>\(Legacy.uid(5))<key>NS.keys</key><array/><key>NS.objects</key><array>\
            \(Legacy.uid(3))</array></dict>\(Legacy.classObject("NSDictionary"))
            """,
            """
            <dict><key>$class</key>\(Legacy.uid(5))<key>NS.uuidbytes</key><data>AAAA</data></dict>\
            \(Legacy.classObject("NSUUID"))
            """,
        ])
    func refusesWrongObjects(objects: String) {
        #expect(Legacy.refusal(of: Self.archive(extra: objects))?.code == .damaged)
    }

    @Test(
        "Omits a Foundation object with invalid content",
        arguments: [
            ("NSString", "<key>NS.string</key><integer>1</integer>"),
            ("NSDate", "<key>NS.time</key>\(Legacy.uid(3))"),
            ("NSDate", "<key>NS.time</key><real>nan</real>"),
            ("NSData", ""),
            ("NSArray", "<key>NS.objects</key><true/>"),
            ("NSURL", "<key>NS.relative</key>\(Legacy.uid(3))"),
            ("NSDecimalNumber", "<key>NS.mantissa</key><data></data>"),
            ("NSDictionary", "<key>NS.keys</key><array>\(Legacy.uid(6))</array>\(dictionaryContent)"),
        ])
    func leavesOutWrongContent(className: String, members: String) throws {
        let object = "<dict><key>$class</key>\(Legacy.uid(5))\(members)</dict>"
        let number = "<integer>7</integer>"
        let imported = try Legacy.read(Self.archive(extra: object + Legacy.classObject(className) + number))
        #expect(imported.account.profile == UserProfile())
        #expect(imported.warnings.count == 1)
    }

    private static let dictionaryContent = "<key>NS.objects</key><array>\(Legacy.uid(3))</array>"

    @Test("Reports a keyed archive that is incomplete or of another version")
    func refusesIncompleteArchives() throws {
        let archiver = Legacy.xml("<dict><key>$archiver</key><string>NSKeyedArchiver</string></dict>")
        #expect(Legacy.refusal(of: archiver)?.code == .damaged)
        let later = Legacy.refusal(of: Legacy.xmlArchive(objects: Self.account, version: 200_000))
        #expect(later?.code == .unsupportedVersion)
        #expect(later?.message.contains("200000") == true)
        #expect(Legacy.refusal(of: Legacy.xmlArchive(objects: Self.account, top: ""))?.code == .invalidArgument)
        let inline = Legacy.xmlArchive(objects: Self.account, top: "<key>root</key><string>x</string>")
        #expect(Legacy.refusal(of: inline)?.code == .damaged)
    }

    @Test("Neither looks up nor displays the class names of a keyed archive")
    func hidesClassNames() throws {
        let objects = "<dict><key>$class</key>\(Legacy.uid(5))</dict>" + Legacy.classObject(Legacy.canary)
        let imported = try Legacy.read(Self.archive(extra: objects))
        #expect(imported.warnings == ["`extra` was left out: it is an object of one of the old app's classes."])
    }
}
