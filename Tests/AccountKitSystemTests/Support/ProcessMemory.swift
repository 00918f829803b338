#if os(Linux)
import Foundation

/// The memory of a process, searched for tokens.
struct ProcessMemory {
    /// The locations of a token's copies.
    struct Copies: Hashable, CustomStringConvertible {
        /// The number of copies in the memory of libsodium, which core dumps exclude.
        var guarded = 0

        /// The number of copies in `guarded` that the kernel never writes to swap space.
        var locked = 0

        /// The names of the other mappings that contain a copy.
        var elsewhere: [String] = []

        var description: String { "\(guarded) guarded, \(locked) locked, \(elsewhere.count) elsewhere \(elsewhere)" }
    }

    let processID: Int32

    /// Searches all memory that the process can read (proc(5), "/proc/pid/smaps" and "/proc/pid/mem").
    func copies(of token: String) throws -> Copies {
        let memory = open("/proc/\(processID)/mem", O_RDONLY | O_CLOEXEC)
        guard memory >= 0 else { throw CocoaError(.fileReadNoPermission) }
        defer { close(memory) }
        var part = [UInt8](repeating: 0, count: 1 << 20)
        var result = Copies()
        for mapping in try mappings() where mapping.isReadable {
            var count = 0
            for offset in stride(from: mapping.start, to: mapping.end, by: part.count) {
                let wanted = min(part.count, Int(mapping.end - offset))
                let got = pread(memory, &part, wanted, Int(offset))
                // Unreadable mappings, such as the kernel's clock, do not belong to the process.
                if got > 0 { count += Self.occurrences(of: token, in: part[..<got]) }
            }
            if mapping.isKeptOutOfDumps {
                result.guarded += count
                if mapping.isLocked { result.locked += count }
            } else {
                result.elsewhere += Array(repeating: mapping.name, count: count)
            }
        }
        return result
    }

    /// The number of occurrences of a part of the token that a free list did not overwrite.
    static func occurrences(of token: String, in data: some ContiguousBytes) -> Int {
        let text = Array(token.utf8)
        let third = text.count / 3
        // The allocator overwrites the first 16 bytes of a freed block, so search for each third separately.
        let parts = [text[..<third], text[third..<(2 * third)], text[(2 * third)...]]
        return data.withUnsafeBytes { data in parts.map { occurrences(of: Array($0), in: data) }.max() ?? 0 }
    }

    private static func occurrences(of part: [UInt8], in data: UnsafeRawBufferPointer) -> Int {
        var count = 0
        var offset = 0
        while data.count - offset >= part.count,
            let found = memchr(data.baseAddress! + offset, Int32(part[0]), data.count - offset - part.count + 1)
        {
            offset = UnsafeRawPointer(found) - data.baseAddress! + 1
            if memcmp(found, part, part.count) == 0 { count += 1 }
        }
        return count
    }

    /// The size of the memory that may not be written to swap space.
    var lockedKilobytes: Int? {
        get throws {
            let line = try text("status").split(separator: "\n").first { $0.hasPrefix("VmLck:") }
            return line.flatMap { Int($0.filter(\.isNumber)) }
        }
    }

    /// A kernel file about the process. It reports size 0, so it must be read to its end.
    private func text(_ name: String) throws -> String {
        let file = try FileHandle(forReadingFrom: URL(filePath: "/proc/\(processID)/\(name)"))
        defer { try? file.close() }
        return String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
    }

    private struct Mapping {
        var start: UInt64
        var end: UInt64
        var isReadable: Bool
        var name: String
        var isKeptOutOfDumps = false
        var isLocked = false
    }

    private func mappings() throws -> [Mapping] {
        var mappings: [Mapping] = []
        for line in try text("smaps").split(separator: "\n") {
            let words = line.split(separator: " ", omittingEmptySubsequences: true)
            if let flags = words.first, flags == "VmFlags:", !mappings.isEmpty {
                mappings[mappings.count - 1].isKeptOutOfDumps = words.contains("dd")
                mappings[mappings.count - 1].isLocked = words.contains("lo")
            } else if let range = words.first, let dash = range.firstIndex(of: "-"), words.count >= 5,
                let start = UInt64(range[..<dash], radix: 16),
                let end = UInt64(range[range.index(after: dash)...], radix: 16)
            {
                let name = words.count > 5 ? words[5...].joined(separator: " ") : "anonymous"
                mappings.append(Mapping(start: start, end: end, isReadable: words[1].hasPrefix("r"), name: name))
            }
        }
        return mappings
    }
}
#endif
