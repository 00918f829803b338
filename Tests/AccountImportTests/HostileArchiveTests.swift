import AccountImport
import AccountKit
import Foundation
import Testing

@Suite("Keyed archives that contradict themselves")
struct HostileArchiveTests {
    private static let account = """
        <dict><key>$class</key>\(Legacy.uid(2))<key>token</key>\(Legacy.uid(3))<key>id</key><integer>8</integer>
        <key>extra</key>\(Legacy.uid(4))</dict>
        \(Legacy.classObject("JFAccountModel"))<string>\(Legacy.canary)</string>
        """

    /// An archive of an account whose field `extra` is the first of `objects`, which is at place 4.
    private static func archive(extra objects: String) -> Data {
        Legacy.xmlArchive(objects: account + objects)
    }

    private static func list(of places: [Int], className place: Int) -> String {
        """
        <dict><key>$class</key>\(Legacy.uid(place))
        <key>NS.objects</key><array>\(places.map(Legacy.uid).joined())</array></dict>
        """
    }

    @Test("the account around the hostile field is whole")
    func readsBase() throws {
        #expect(try Legacy.read(Self.archive(extra: "<string>x</string>")).account.profile == ["extra": "x"])
    }

    @Test("a list that holds itself is damaged")
    func refusesCycle() {
        let direct = Self.list(of: [4], className: 5) + Legacy.classObject("NSArray")
        let error = Legacy.refusal(of: Self.archive(extra: direct))
        #expect(error?.code == .damaged)
        #expect(error?.message.contains("holds itself") == true)
        #expect(error?.message.contains("Copy it again") == true)

        let indirect =
            Self.list(of: [6], className: 5) + Legacy.classObject("NSArray") + Self.list(of: [4], className: 5)
        #expect(Legacy.refusal(of: Self.archive(extra: indirect))?.code == .damaged)
    }

    @Test("an account that refers to itself is no cycle, since accounts are not followed")
    func leavesOutItself() throws {
        let objects = Self.account.replacingOccurrences(of: "<integer>4</integer>", with: "<integer>1</integer>")
        let imported = try Legacy.read(Legacy.xmlArchive(objects: objects))
        #expect(imported.account.id == "8")
        #expect(imported.warnings.count == 1)
    }

    @Test("objects nested very deeply are damaged")
    func refusesDepth() {
        let lists = (0..<2000).map { Self.list(of: [$0 + 6], className: 5) }
        let objects = Self.list(of: [6], className: 5) + Legacy.classObject("NSArray") + lists.joined()
        #expect(Legacy.refusal(of: Self.archive(extra: objects))?.code == .damaged)
    }

    @Test("objects that grow without end when they are written out are damaged, and found so soon")
    func refusesGrowth() {
        let lists = (0..<40).map { Self.list(of: [$0 + 7, $0 + 7], className: 5) }
        let objects =
            Self.list(of: [6], className: 5) + Legacy.classObject("NSArray") + lists.joined() + "<string>x</string>"
        #expect(Legacy.refusal(of: Self.archive(extra: objects))?.code == .damaged)
    }

    @Test("a long text that is referred to many times is damaged")
    func refusesRepetition() {
        let objects =
            Self.list(of: Array(repeating: 6, count: 200), className: 5) + Legacy.classObject("NSArray")
            + "<string>\(String(repeating: "x", count: 100_000))</string>"
        #expect(Legacy.refusal(of: Self.archive(extra: objects))?.code == .damaged)
    }

    @Test(
        "a reference to nowhere is damaged", arguments: [5, 1_000_000, Int(Int32.max), -1, Int(UInt32.max), Int.max])
    func refusesWrongReferences(place: Int) {
        let objects = Self.list(of: [place], className: 5)
        #expect(Legacy.refusal(of: Self.archive(extra: objects))?.code == .damaged)
        let root = "<key>root</key>\(Legacy.uid(place == 5 ? 99 : place))"
        #expect(Legacy.refusal(of: Legacy.xmlArchive(objects: Self.account, top: root))?.code == .damaged)
    }

    @Test(
        "an object of the wrong form is damaged",
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
        "a Foundation object with the wrong content is left out",
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

    @Test("an archive without its parts, or of another version, says so")
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

    @Test("no class is looked up, and its name is not shown, since it may be anything")
    func hidesClassNames() throws {
        let objects = "<dict><key>$class</key>\(Legacy.uid(5))</dict>" + Legacy.classObject(Legacy.canary)
        let imported = try Legacy.read(Self.archive(extra: objects))
        #expect(imported.warnings == ["`extra` was left out: it is an object of the old app's own."])
    }
}
