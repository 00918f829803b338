import Foundation
import Testing

@testable import AccountCrypto

/// An archive that version 1 wrote. Every later version opens it. The format page contains it as an example.
struct GoldenArchiveTests {
    private let file: [UInt8]
    private let context = SealingContext(appIdentifier: "com.example.gists", sessionName: "work")

    private let key = KeySlot.Opener.key(
        GuardedBytes(copying: [UInt8](hex: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f")))
    private let passphrase = KeySlot.Opener.passphrase(GuardedBytes(copying: "correct horse battery staple".utf8))

    init() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        file = Array(try Data(contentsOf: folder.appending(path: "Fixtures/golden-v1.plist")))
    }

    private func payload(_ opener: KeySlot.Opener, _ kind: KeySlot.Kind) throws -> [UInt8] {
        let envelope = try Envelope(parsing: try ArchivePropertyList.decode(file))
        return try envelope.payload(
            with: try envelope.unlock(with: opener, kind: kind, context: context), context: context)
    }

    @Test func `Opens the golden archive with its key`() throws {
        let payload = try payload(key, .keyFile)
        // Check the access token, and the hash of the whole payload, which other implementations must reproduce.
        #expect(Array(payload[..<31]) == [0x4E, 0, 0, 0, 1, 0, 0, 0, 19, 0, 0, 0] + Array("golden-access-token".utf8))
        #expect(payload.count == 606)
        #expect(
            Sodium.hash(payload) == [UInt8](hex: "bbc26f24b1a0ffde0d905524d2a5dd68aa6856e46dcb98fc94a5abdded79a3e3"))
    }

    @Test func `Opens the golden archive with its passphrase`() throws {
        #expect(try payload(passphrase, .passphrase) == payload(key, .keyFile))
    }

    @Test func `Reads the unencrypted fields of the golden archive`() throws {
        let envelope = try Envelope(parsing: try ArchivePropertyList.decode(file))
        #expect(envelope.generation == 7)
        #expect(envelope.storeID == [UInt8](hex: "c607de79d599e907feca9a7673177359"))
        #expect(envelope.dataKeyID == [UInt8](hex: "f019eed345bed2bdae1f8ceca61dfbb1"))
        #expect(envelope.slots.map(\.kind) == [.keyFile, .passphrase])
        #expect(envelope.slots.map(\.created) == [1_767_323_045, 1_767_323_047])
        #expect(envelope.slots.map(\.cost) == [nil, PassphraseCost(operations: 1, memoryKiB: 8192)])
        #expect(envelope.slots[0].keyID == [UInt8](hex: "d1222b944b1c26b27fcfa04f85426710"))
    }

    @Test func `Encodes the golden archive to the same bytes`() throws {
        let envelope = try ArchivePropertyList.decode(file)
        #expect(ArchivePropertyList.encode(sealed: envelope) == file)
        let parsed = try Envelope(parsing: envelope)
        #expect(try EnvelopeHeader(parsing: envelope).bytes + parsed.slots.flatMap(\.bytes) == Array(envelope[..<448]))
    }
}
