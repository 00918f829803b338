import AccountImport
import AccountKit
import Foundation
import Testing

@Suite("Inconsistent binary property lists")
struct BinaryPropertyListTests {
    /// A binary property list of the given objects, with references of one byte and offsets of two.
    private static func list(
        _ objects: [[UInt8]], top: UInt64 = 0, count: UInt64? = nil, tableOffset: UInt64? = nil,
        offsetByteCount: UInt8 = 2, referenceByteCount: UInt8 = 1
    ) -> Data {
        var bytes = Array("bplist00".utf8)
        var offsets: [UInt8] = []
        for object in objects {
            offsets += bigEndian(UInt16(bytes.count))
            bytes += object
        }
        let table = UInt64(bytes.count)
        bytes += offsets + [0, 0, 0, 0, 0, 0, offsetByteCount, referenceByteCount]
        bytes += bigEndian(count ?? UInt64(objects.count)) + bigEndian(top) + bigEndian(tableOffset ?? table)
        return Data(bytes)
    }

    private static func bigEndian(_ value: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: value.bigEndian) { Array($0) }
    }

    private static func text(_ text: String) -> [UInt8] { [0x50 | UInt8(text.utf8.count)] + Array(text.utf8) }

    /// A dictionary with `token`, `id` and `extra`, where `extra` is the object with index 6.
    private static func account(extra objects: [[UInt8]]) -> [[UInt8]] {
        [[0xD3, 1, 2, 3, 4, 5, 6], text("token"), text("id"), text("extra"), text("abcdefgh"), [0x10, 8]] + objects
    }

    private static func profile(extra objects: [UInt8]...) throws -> UserProfile {
        try Legacy.read(list(account(extra: objects))).account.profile
    }

    @Test("Reads every kind of value in a binary property list")
    func readsValues() throws {
        #expect(try Self.profile(extra: [0x08]) == ["extra": false])
        #expect(try Self.profile(extra: [0x09]) == ["extra": true])
        #expect(try Self.profile(extra: [0x00]) == [:])
        #expect(try Self.profile(extra: [0x10, 0xFF]) == ["extra": 255])
        #expect(try Self.profile(extra: [0x11, 0x01, 0x00]) == ["extra": 256])
        #expect(try Self.profile(extra: [0x12, 0xFF, 0xFF, 0xFF, 0xFF]) == ["extra": 4_294_967_295])
        #expect(try Self.profile(extra: [0x13] + Self.bigEndian(Int64(-5))) == ["extra": -5])
        #expect(
            try Self.profile(extra: [0x14] + Self.bigEndian(Int64(-1)) + Self.bigEndian(Int64(-5))) == ["extra": -5])
        #expect(try Self.profile(extra: [0x22] + Self.bigEndian(Float(0.5).bitPattern)) == ["extra": 0.5])
        #expect(try Self.profile(extra: [0x23] + Self.bigEndian(0.25.bitPattern)) == ["extra": 0.25])
        let date = Date(timeIntervalSinceReferenceDate: 60)
        #expect(try Self.profile(extra: [0x33] + Self.bigEndian(60.0.bitPattern)) == ["extra": .date(date)])
        #expect(try Self.profile(extra: [0x42, 1, 2]) == ["extra": .data(Data([1, 2]))])
        #expect(try Self.profile(extra: [0x5F, 0x10, 2, 0x61, 0x62]) == ["extra": "ab"])
        #expect(try Self.profile(extra: [0x63, 0x80, 0x01, 0xD8, 0x3D, 0xDC, 0x4B]) == ["extra": "老👋"])
        #expect(try Self.profile(extra: [0xA2, 7, 7], [0x10, 1]) == ["extra": [1, 1]])
    }

    @Test(
        "Rejects a malformed value in a binary property list as damaged",
        arguments: [
            [0x0F], [0x15], [0x24], [0x32], [0x70], [0xC1, 4], [0xE0], [0x88], [0x5F, 0x50], [0x5F, 0x14, 0x00],
            [0x5F, 0x13, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
            [0x5F, 0x13, 0x7F, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0], [0x5F, 0x12, 0x7F, 0xFF, 0xFF, 0xFF],
            [0x4F, 0x11, 0xFF, 0xFF], [0x13, 1], [0x55, 0x61], [0xA1, 99], [0xA5, 1], [0xA1, 6], [0xA1, 0],
            [0xD1, 4, 99], [0xD1, 5, 5], [0xD2, 4, 4, 5, 5],
        ] as [[UInt8]])
    func refusesWrongValues(object: [UInt8]) {
        let error = Legacy.refusal(of: Self.list(Self.account(extra: [object])))
        #expect(error?.code == .damaged)
        #expect(error?.description.contains("Copy it again") == true)
    }

    @Test(
        "Omits undecodable text in a binary list unless its field is required",
        arguments: [[0x51, 0x80], [0x61, 0xD8, 0x00], [0x61, 0xDC, 0x00], [0x62, 0xD8, 0x00, 0x00, 0x41]] as [[UInt8]])
    func leavesOutUndecodableTexts(object: [UInt8]) throws {
        let imported = try Legacy.read(Self.list(Self.account(extra: [object])))
        #expect(imported.account.id == "8")
        #expect(imported.account.profile == [:])
        #expect(imported.warnings == ["`extra` was left out: it is a damaged string."])

        for needed in [4, 5] {
            var objects = Self.account(extra: [[0x09]])
            objects[needed] = object
            #expect(Legacy.refusal(of: Self.list(objects))?.code == .invalidArgument)
        }
        var objects = Self.account(extra: [[0x09]])
        objects[3] = object
        #expect(Legacy.refusal(of: Self.list(objects))?.code == .damaged, "a key")
    }

    @Test("Omits a UID in a binary property list")
    func leavesOutReference() throws {
        let imported = try Legacy.read(Self.list(Self.account(extra: [[0x80, 3]])))
        #expect(imported.account.profile == [:])
        #expect(imported.warnings.count == 1)
    }

    @Test("Rejects a binary property list with a wrong trailer as damaged")
    func refusesWrongTrailers() {
        let objects = Self.account(extra: [[0x09]])
        let hostile = [
            Self.list(objects, top: 7), Self.list(objects, top: .max), Self.list(objects, count: 0),
            Self.list(objects, count: 8), Self.list(objects, count: .max), Self.list(objects, count: 1 << 62),
            Self.list(objects, tableOffset: 0), Self.list(objects, tableOffset: 8),
            Self.list(objects, tableOffset: .max),
            Self.list(objects, tableOffset: 1 << 31), Self.list(objects, offsetByteCount: 0),
            Self.list(objects, offsetByteCount: 255), Self.list(objects, offsetByteCount: 8),
            Self.list(objects, referenceByteCount: 0), Self.list(objects, referenceByteCount: 9),
            Self.list(objects, referenceByteCount: 8), Data("bplist00".utf8), Data("bplist00".utf8) + Data(count: 32),
        ]
        for data in hostile { #expect(Legacy.refusal(of: data)?.code == .damaged) }
    }

    @Test("Reports a binary property list of another format version")
    func refusesVersions() {
        let error = Legacy.refusal(of: Data("bplist15".utf8) + Data(count: 100))
        #expect(error?.code == .unsupportedVersion)
    }

    @Test("Rejects a binary property list that expands without limit")
    func refusesGrowth() {
        let lists = (0..<60).map { [0xA4] + Array(repeating: UInt8($0 + 7), count: 4) } + [[0x09]]
        #expect(Legacy.refusal(of: Self.list(Self.account(extra: lists)))?.code == .damaged)
    }

    @Test(
        "Rejects a binary property list that is not a dictionary",
        arguments: [[0x09], [0xA0], [0x51, 0x61]] as [[UInt8]])
    func refusesOtherRoots(object: [UInt8]) {
        let error = Legacy.refusal(of: Self.list([object]))
        #expect(error?.code == .invalidArgument)
        #expect(error?.description.contains("not a dictionary of account fields") == true)
    }
}
