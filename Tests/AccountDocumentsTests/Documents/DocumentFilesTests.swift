import AccountKit
import Foundation
import AccountCrypto
import Testing

@testable import AccountDocuments

struct DocumentFilesTests {
    private let folder: DocumentFolder

    init() throws { folder = try DocumentFolder() }

    /// Adds a note with a file, and returns the file's id.
    private func add(_ bytes: [UInt8], to archive: DocumentArchive<[Note]>) async throws -> String {
        let staged = try await archive.stage(contentsOf: folder.source(bytes))
        try await archive.change(from: [], adding: [staged]) { $0.append(Note(text: "note", file: staged.id)) }
        return staged.id
    }

    private func exported(_ id: String, from archive: DocumentArchive<[Note]>) async throws -> [UInt8] {
        try await archive.exportFile(id, to: folder.root + "/export")
        return try folder.bytes(folder.root + "/export")
    }

    @Test(arguments: [false, true], [0, 1, 65_535, 65_536, 65_537, 200_000])
    func `Exports a document's file of any size unchanged`(isSealed: Bool, size: Int) async throws {
        let archive = try folder.archive(sealed: isSealed)
        let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        let id = try await add(bytes, to: archive)
        #expect(try await exported(id, from: archive) == bytes)
        #expect(folder.names(in: folder.files) == [id])
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.files + "/" + id)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let stored = try folder.bytes(folder.files + "/" + id)
        #expect(isSealed ? stored.count > size : stored == bytes)
        if isSealed, size > 100 { #expect(stored.firstRange(of: bytes.prefix(32)) == nil) }
    }

    @Test func `Removes a document's file after its last reference is removed`() async throws {
        let archive = try folder.archive()
        let (first, second) = (try await add([1], to: archive), try await add([2], to: archive))
        let staged = try await archive.stage(contentsOf: folder.source([3]))
        try await archive.change(from: [], adding: [staged]) { $0[0].file = staged.id }
        #expect(folder.names(in: folder.files) == [second, staged.id].sorted())
        await #expect(code { try await archive.exportFile(first, to: folder.root + "/export") } == .damaged)
        try await archive.change(from: []) { $0.removeAll() }
        #expect(folder.names(in: folder.files) == [])
    }

    @Test func `Adds a staged file to which the first value of a new document refers`() async throws {
        let archive = try folder.archive()
        let staged = try await archive.stage(contentsOf: folder.source([1, 2]))
        try await archive.change(from: [Note(text: "first", file: staged.id)], adding: [staged]) { _ in }
        #expect(try await exported(staged.id, from: archive) == [1, 2])
    }

    @Test func `Removes unused staged files, and refuses unknown file ids`() async throws {
        let archive = try folder.archive()
        let unnamed = try await archive.stage(contentsOf: folder.source([1]))
        #expect(folder.names(in: folder.files) == [".\(unnamed.id).tmp"])
        try await archive.change(from: [], adding: [unnamed]) { $0.append(Note(text: "without")) }
        #expect(folder.names(in: folder.files) == [])
        struct Refused: Error {}
        let refused = try await archive.stage(contentsOf: folder.source([1]))
        await #expect(throws: Refused.self) {
            try await archive.change(from: [], adding: [refused]) { _ in throw Refused() }
        }
        #expect(folder.names(in: folder.files) == [])
        withExtendedLifetime((unnamed, refused)) {}
        let id = String(repeating: "0", count: 32)
        for name in [id, "../Notes.plist", ""] {
            await #expect(
                code { try await archive.change(from: []) { $0.append(Note(text: "with", file: name)) } }
                    == .invalidArgument)
        }
        #expect(try archive.read() == [Note(text: "without")])
    }

    @Test func `Removes abandoned staged files, but no other files`() async throws {
        let archive = try folder.archive()
        let kept = try await add([1], to: archive)
        let staged = try await folder.archive().stage(contentsOf: folder.source([2]))
        let id = String(repeating: "a", count: 32)
        for name in [id, ".\(id).tmp", "holiday.jpg", ".hidden.tmp"] {
            try folder.write([9], to: folder.files + "/" + name)
        }
        try await archive.change(from: []) { $0.append(Note(text: "another")) }
        #expect(
            Set(folder.names(in: folder.files)) == [kept, ".\(staged.id).tmp", "holiday.jpg", ".hidden.tmp"])
        try await archive.change(from: [], adding: [staged]) { $0.append(Note(text: "staged", file: staged.id)) }
        #expect(try await exported(staged.id, from: archive) == [2])
    }

    @Test func `Keeps the files of a missing document, and refuses a new document`() async throws {
        let archive = try folder.archive()
        let id = try await add([1], to: archive)
        let document = try folder.bytes(folder.document)
        try FileManager.default.removeItem(atPath: folder.document)
        await #expect(code { _ = try archive.read() } == .damaged)
        await #expect(code { try await archive.change(from: []) { _ in } } == .damaged)
        #expect(folder.names(in: folder.files) == [id])
        try folder.write(document, to: folder.document)
        #expect(try await exported(id, from: archive) == [1])
    }

    @Test func `Refuses to add a source that is not a regular file`() async throws {
        let archive = try folder.archive()
        for path in [folder.root, folder.root + "/none", "/dev/null"] {
            await #expect(code { _ = try await archive.stage(contentsOf: path) } == .inaccessible)
        }
        #expect(folder.names(in: folder.files) == [])
    }

    @Test func `Refuses to export to a link or a device, and leaves no file`() async throws {
        let archive = try folder.archive()
        let id = try await add([1], to: archive)
        try FileManager.default.createSymbolicLink(atPath: folder.root + "/link", withDestinationPath: "/dev/null")
        let before = folder.names(in: folder.root)
        for path in [folder.root, folder.root + "/link", folder.root + "/none/export"] {
            await #expect(code { try await archive.exportFile(id, to: path) } == .inaccessible)
        }
        #expect(folder.names(in: folder.root) == before)
    }

    // MARK: Sealed files

    @Test func `Reveals no content of a truncated, changed or swapped sealed file`() async throws {
        let archive = try folder.archive(sealed: true)
        let bytes = [UInt8](repeating: 7, count: 3 * ChunkSeal.chunkByteCount)
        let (id, other) = (try await add(bytes, to: archive), try await add(bytes, to: archive))
        let path = folder.files + "/" + id
        let stored = try folder.bytes(path)
        let (header, chunk) = (ChunkSeal.headerByteCount, ChunkSeal.sealedChunkByteCount)
        #expect(stored.count == header + 3 * chunk)
        var changed = stored
        changed[header + chunk + 100] ^= 1
        let swapped =
            stored[..<header] + stored[(header + chunk)..<(header + 2 * chunk)]
            + stored[header..<(header + chunk)] + stored[(header + 2 * chunk)...]
        let damages: [[UInt8]] = [
            [], Array(stored.prefix(header)), Array(stored.prefix(header + 2 * chunk)), Array(stored.dropLast()),
            stored + [0], changed, Array(swapped), try folder.bytes(folder.files + "/" + other), bytes,
        ]
        for (number, damage) in damages.enumerated() {
            try folder.write(damage, to: path)
            await #expect(
                code { try await archive.exportFile(id, to: folder.root + "/export") } == .wrongKeyOrDamaged,
                "\(number)")
            #expect(!folder.names(in: folder.root).contains { $0.contains("export") }, "\(number)")
        }
        try folder.write(stored, to: path)
        #expect(try await exported(id, from: archive) == bytes)
    }
}
