import Foundation
import Synchronization
import Testing

@testable import AccountKit

@Suite struct RecordPropertyListTests {
    static let values: [ProfileValue] = [
        "", "alice", "Zoë", "日本語 🙂", .string(String(repeating: "long ", count: 20_000)), .integer(0), .integer(255),
        .integer(256),
        .integer(-1), .integer(.max), .integer(.min), .integer(1 << 40), .real(1.5), .real(-0.0), .real(1e300),
        .real(3),
        .real(.infinity), true, false, .date(Date(timeIntervalSinceReferenceDate: -12.25)), .data(Data()),
        .data(Data((0...255).map { UInt8($0) })), [], ["a", 1, [], [:]], [:], ["a": ["b": ["c": [1, 2.5, "d"]]]],
        .array((0..<300).map { .integer($0 % 7) }),
        .dictionary(Dictionary(uniqueKeysWithValues: (0..<300).map { ("key \($0)", .string("value \($0 % 5)")) })),
    ]

    private func encoded(_ fields: [String: ProfileValue]) throws -> [UInt8] {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        return [UInt8](try encoder.encode(fields))
    }

    @Test(arguments: values.indices) func readsWhatFoundationReads(index: Int) throws {
        let bytes = try encoded(["value": Self.values[index], "other": "x"])
        let expected = try PropertyListDecoder().decode([String: ProfileValue].self, from: Data(bytes))
        #expect(try read(bytes) == expected)
    }

    @Test func readsDeepNesting() throws {
        var value: ProfileValue = "core"
        for _ in 0..<100 { value = .array([value]) }
        #expect(try read(try encoded(["value": value])) == ["value": value])
    }

    @Test(arguments: values.indices) func writesWhatFoundationReads(index: Int) throws {
        let fields = ["value": Self.values[index], "other": "x"]
        let bytes = try RecordPropertyListWriter.write(fields)
        let expected = try PropertyListDecoder().decode([String: ProfileValue].self, from: Data(try encoded(fields)))
        #expect(try PropertyListDecoder().decode([String: ProfileValue].self, from: Data(bytes)) == expected)
        #expect(try read(bytes) == expected)
    }

    @Test(arguments: [200, 255, 256, 257, 40_000]) func writesAnyNumberOfValues(count: Int) throws {
        let fields = Dictionary(uniqueKeysWithValues: (0..<count).map { ("\($0)", ProfileValue.integer(Int64($0))) })
        let bytes = try RecordPropertyListWriter.write(fields)
        #expect(try read(bytes) == fields)
        #expect(try PropertyListDecoder().decode([String: Int].self, from: Data(bytes)).count == count)
    }

    @Test func writesARepeatedKeyOnce() throws {
        let rows = ProfileValue.array((0..<100).map { ["a rather long name": .integer($0)] })
        #expect(try RecordPropertyListWriter.write(["rows": rows]).count < 1500)
    }

    @Test func readsTheDeepestNestingOnASmallStackAndRefusesDeeper() throws {
        var value: ProfileValue = "core"
        // The dictionary that contains all values is the first level.
        for _ in 1..<RecordPropertyList.maximumDepth { value = .array([value]) }
        let (deepest, deeper) = (["value": value], ["value": ProfileValue.array([value])])
        let isRead = Mutex<Bool?>(nil)
        let done = DispatchSemaphore(value: 0)
        let thread = Thread {
            isRead.withLock { $0 = (try? read(RecordPropertyListWriter.write(deepest))) != nil }
            done.signal()
        }
        thread.stackSize = 512 * 1024  // the stack size of secondary threads on Apple platforms
        thread.start()
        done.wait()
        #expect(isRead.withLock { $0 } == true)
        #expect(throws: RecordPropertyList.Malformed.self) { try RecordPropertyListWriter.write(deeper) }
    }

    @Test func readsNumbersOfSixteenBytes() throws {
        // CoreFoundation's encoding of 2^64 - 1: marker 14, 16 bytes, unsigned.
        let list = Self.list(objects: [
            [0xD1, 1, 2], Array("Qn".utf8),
            [0x14] + [UInt8](repeating: 0, count: 8) + [UInt8](repeating: 0xFF, count: 8),
        ])
        #expect(try read(list) == ["n": .real(Double(UInt64.max))])
    }

    @Test func readsANullStringAsMissing() throws {
        let list = Self.list(objects: [[0xD1, 1, 2], Array("Qn".utf8), Array("U$null".utf8)])
        #expect(try read(list) == [:])
    }

    @Test(
        arguments: [
            [[0xA1, 0]],  // an array that contains itself, as the root object
            [[0xD1, 1, 0], [0x51, 0x61]],  // a dictionary that contains itself
            [[0xD1, 1, 9], [0x51, 0x61]],  // a reference to a missing object
            [[0xD1, 1, 2], [0x51, 0x61], [0x80, 1]],  // a UID
            [[0xD1, 1, 2], [0x51, 0x61], [0x00]],  // null
            [[0xD1, 1, 2], [0x51, 0xE9], [0x09]],  // a key that is not ASCII
            [[0xD1, 1, 2], [0x51, 0x61], [0x61, 0xD8, 0x00]],  // a lone UTF-16 surrogate
            [[0xD1, 1, 2], [0x09], [0x09]],  // a key that is not a string
            [[0xD2, 1, 1, 2, 2], [0x51, 0x61], [0x09]],  // a duplicate key
            [[0xD1, 1, 2], [0x51, 0x61], [0x5F, 0x12, 0x7F, 0xFF, 0xFF, 0xFF]],  // a string longer than the file
        ] as [[[UInt8]]])
    func refusesObjectsThatAProfileCannotHold(objects: [[UInt8]]) {
        #expect(throws: RecordPropertyList.Malformed.self) { try read(Self.list(objects: objects)) }
    }

    @Test func refusesArraysThatShareTheirElements() {
        // Each array contains the next one ten times: 10^20 values.
        var objects: [[UInt8]] = [[0xD1, 1, 2], [0x51, 0x61]]
        for index in 3..<23 { objects.append([0xAA] + [UInt8](repeating: UInt8(index), count: 10)) }
        objects.append([0x09])
        #expect(throws: RecordPropertyList.Malformed.self) { try read(Self.list(objects: objects)) }
    }

    @Test func doesNotTrapOnChangedBitsOrTruncation() throws {
        let whole = try encoded([
            "text": "Zoë", "list": [1, 2.5, true], "data": .data(Data([1])), "fields": ["a": "b"],
        ])
        for count in whole.indices { _ = try? read(Array(whole[..<count])) }
        for index in whole.indices {
            for bit in 0..<8 {
                var bytes = whole
                bytes[index] ^= 1 << bit
                _ = try? read(bytes)
            }
        }
        #expect(throws: RecordPropertyList.Malformed.self) { try read(Array(whole.dropLast())) }
    }

    /// A list with one-byte offsets and references, whose first object is the root.
    private static func list(objects: [[UInt8]]) -> [UInt8] {
        var bytes = Array("bplist00".utf8)
        var table: [UInt8] = []
        for object in objects {
            table.append(UInt8(bytes.count))
            bytes += object
        }
        let number = { (value: Int) in (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * $0)) } }
        let tableOffset = bytes.count
        return bytes + table + [0, 0, 0, 0, 0, 0, 1, 1] + number(objects.count) + number(0) + number(tableOffset)
    }
}

private func read(_ bytes: [UInt8]) throws -> [String: ProfileValue] {
    try bytes.withUnsafeBytes { try RecordPropertyList.read($0) }
}
