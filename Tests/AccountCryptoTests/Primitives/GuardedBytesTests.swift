import Foundation
import Testing

@testable import AccountCrypto

struct GuardedBytesTests {
    private struct Failure: Error, Equatable {}

    @Test func `Initializes guarded memory with zeros`() {
        var seen: [UInt8] = [1]
        _ = GuardedBytes(count: 100) { seen = Array($0) }
        #expect(seen == [UInt8](repeating: 0, count: 100))
    }

    @Test(arguments: [64, 1024, 65_536]) func `Erases guarded memory before a later allocation reuses it`(count: Int) {
        for _ in 0..<20 {
            var found: [UInt8] = []
            _ = GuardedBytes(count: count) { bytes in
                found = Array(bytes)
                for index in bytes.indices { bytes[index] = 0xA5 }
            }
            #expect(!found.contains(0xA5))
        }
    }

    @Test(arguments: [1, 31, 32, 4095, 4096, 4097, 100_000])
    func `Returns a copy of the bytes in guarded memory`(count: Int) {
        let bytes = Sodium.randomBytes(count: count)
        let guarded = GuardedBytes(copying: bytes)
        #expect(guarded.count == count)
        #expect(guarded.copy == bytes)
    }

    @Test func `Allocates guarded memory of zero bytes`() {
        #expect(GuardedBytes(copying: []).copy == [])
        #expect(GuardedBytes.random(count: 0).count == 0)
        let empty = GuardedBytes(count: 0) { #expect($0.count == 0) }
        #expect(GuardedBytes.isEqual(empty, 0..<0, GuardedBytes(copying: [1]), 0..<0))
    }

    @Test func `Fills guarded memory with different random bytes each time`() {
        #expect(GuardedBytes.random(count: 32).copy != GuardedBytes.random(count: 32).copy)
    }

    @Test(arguments: [
        (0..<3, 3..<6, true), (0..<3, 0..<3, true), (0..<6, 0..<6, true), (0..<3, 4..<7, false), (1..<3, 0..<3, false),
        (0..<0, 3..<3, true), (2..<3, 6..<7, false), (0..<1, 1..<2, false),
    ])
    func `Treats guarded ranges as equal only if all bytes match`(left: Range<Int>, right: Range<Int>, isEqual: Bool) {
        let bytes = GuardedBytes(copying: [1, 2, 3, 1, 2, 3, 4])
        let others = GuardedBytes(copying: [1, 2, 3, 1, 2, 3, 4])
        #expect(GuardedBytes.isEqual(bytes, left, others, right) == isEqual)
        #expect(GuardedBytes.isEqual(others, right, bytes, left) == isEqual)
    }

    @Test func `Rethrows an error of the body that fills guarded memory`() {
        #expect(throws: Failure()) {
            try GuardedBytes(count: 32) { (buffer: UnsafeMutableRawBufferPointer) throws(Failure) in
                buffer[0] = 1
                throw Failure()
            }
        }
    }

    @Test func `Rethrows an error of the body that uses guarded memory`() {
        let bytes = GuardedBytes(copying: [1])
        #expect(throws: Failure()) {
            try bytes.withUnsafeBytes { (_: UnsafeRawBufferPointer) throws(Failure) in throw Failure() }
        }
    }

    #if os(Linux)
    @Test func `Frees guarded memory if the body that fills it throws an error`() throws {
        let before = try Self.virtualMemory()
        for _ in 0..<512 {
            _ = try? GuardedBytes(count: 4 * 1024 * 1024) { _ throws(Failure) in throw Failure() }
        }
        // The difference would be 2 GiB if the bytes were not freed. Concurrent tests need less than 1 GiB.
        #expect(try Self.virtualMemory() - before < 1024 * 1024 * 1024)
    }

    /// The size of this process in bytes.
    private static func virtualMemory() throws -> Int {
        let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .ascii).split(separator: " ")
        return try #require(fields.first.flatMap { Int($0) }) * sysconf(Int32(_SC_PAGESIZE))
    }
    #endif

    /// The signal for access to a protected page.
    private static var fault: CInt {
        #if canImport(Darwin)
        SIGBUS
        #else
        SIGSEGV
        #endif
    }

    @Test func `Writing to filled guarded memory larger than a key ends the process`() async {
        await #expect(processExitsWith: .signal(Self.fault)) {
            GuardedBytes.random(count: 65).withUnsafeBytes { bytes in
                UnsafeMutableRawPointer(mutating: bytes.baseAddress!).storeBytes(of: 4, as: UInt8.self)
            }
        }
    }

    @Test func `Reading past the end of guarded memory ends the process`() async {
        await #expect(processExitsWith: .signal(Self.fault)) {
            GuardedBytes(copying: [1, 2, 3]).withUnsafeBytes { bytes in
                precondition(bytes.baseAddress!.load(fromByteOffset: 3, as: UInt8.self) < 255)
            }
        }
    }
}
