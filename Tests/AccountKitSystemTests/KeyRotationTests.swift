import AccountTesting
import Foundation
import TestScene
import Testing

@testable import AccountKit

/// Replacing the key file, also if a crash stops the replacement.
struct KeyRotationTests {
    private let folder: TemporaryFolder
    private let container: AppContainer
    private let file: KeyFile

    init() throws {
        folder = try TemporaryFolder()
        container = try folder.container()
        file = KeyFile(container: container)
    }

    private var keys: String { folder.path + "/Library/Keys" }

    private func signIn(_ sources: KeySource...) async throws -> AccountStore {
        let store = AccountStore(container: container, keySources: sources.isEmpty ? [.file] : sources)
        try await store.signIn {
            Account(
                id: "1", username: "alice",
                credentials: Credentials(accessToken: Secret("access"), issuedAt: Date(timeIntervalSince1970: 1)))
        }
        return store
    }

    private func expectSignedIn(_ slotCount: Int = 1) async throws {
        let fresh = AccountStore(container: container)
        #expect(await fresh.load().account?.username == "alice")
        #expect(try await fresh.keySlots().count == slotCount)
        #expect(try await fresh.keySlots().contains { $0.isAvailable })
    }

    @Test func `Replaces key, slot and data key in a rotation, and leaves no old file`() async throws {
        let store = try await signIn()
        let before = (key: try folder.bytes(file.path), slots: try await store.keySlots())
        try await store.rotateKey(of: .keyFile)
        #expect(try folder.bytes(file.path) != before.key)
        #expect(try await store.keySlots().map(\.id) != before.slots.map(\.id))
        #expect(try folder.names(in: keys) == ["Account.key"])
        #expect(try folder.permissions(file.path) == 0o600)
        try await expectSignedIn()
        // The old key does not open the new archive.
        try before.key.write(to: URL(filePath: file.path))
        let state = await AccountStore(container: container).load()
        #expect(state == .unreadable(AccountError(.wrongKeyOrDamaged, "")))
    }

    @Test func `Continues with the new key in another process that opened the archive`() async throws {
        let store = try await signIn()
        let other = AccountStore(container: container)
        _ = await other.load()
        try await store.rotateKey(of: .keyFile)
        try await other.update { $0.profile.nickname = "Al" }
        #expect(await AccountStore(container: container).load().account?.profile.nickname == "Al")
    }

    @Test func `Creates a separate key for each named session`() async throws {
        let store = try await signIn()
        let session = try SessionName("work")
        let work = AccountStore(container: container, session: session)
        try await work.signIn { try #require(store.account) }
        #expect(try folder.bytes(file.path) != folder.bytes(keys + "/Sessions/work/Account.key"))
        try await store.rotateKey(of: .keyFile)
        #expect(await AccountStore(container: container, session: session).load().account?.username == "alice")
    }

    /// The archive is written with both keys, the key file is replaced, and the archive is written with the new key. Each
    /// time, the record of the revocation is written too.
    @Test(arguments: 1...4) func `The next rotation completes one that stopped`(write: Int) async throws {
        let storage = FaultyArchiveStorage(FileArchiveStorage(container: container))
        let first = try await signIn()
        _ = try await first.signOut(with: ScriptedAuthority(revoke: [.refuse(.noResponse(.timeout))]))
        _ = try await signIn()
        let old = try folder.bytes(file.path)
        for _ in 1...2 {
            storage.inject(.fails(FaultyArchiveStorage.diskFull), at: write, of: .replace)
            let store = AccountStore(storage: storage, appIdentifier: container.identifier, keys: [file])
            await expectAccountError(.inaccessible) { try await store.rotateKey(of: .keyFile) }
        }
        if write <= 2 { #expect(try folder.bytes(file.path) == old) }
        for name in try folder.names(in: keys) { #expect(try folder.permissions(keys + "/" + name) == 0o600) }
        #expect(await AccountStore(container: container).load().account?.username == "alice")
        try await AccountStore(container: container).rotateKey(of: .keyFile)
        try await expectSignedIn()
        #expect(try await AccountStore(container: container).pendingRevocations().count == 1)
        #expect(try folder.names(in: keys) == ["Account.key"])
    }

    @Test func `Replaces one of two key files, and keeps the other`() async throws {
        let elsewhere = folder.path + "/elsewhere/Account.key"
        let store = try await signIn(.file, .file(elsewhere))
        let other = try folder.bytes(elsewhere)
        try await store.rotateKey(of: .keyFile)
        #expect(try folder.bytes(elsewhere) == other)
        for key in [KeySource.file, .file(elsewhere)] {
            #expect(await AccountStore(container: container, keySources: [key]).load().account?.username == "alice")
        }
    }

    @Test func `Fails a key rotation without the key before any change`() async throws {
        let elsewhere = folder.path + "/elsewhere/Account.key"
        let store = try await signIn(.file, .file(elsewhere))
        let archive = try folder.bytes()
        try FileManager.default.removeItem(atPath: elsewhere)
        await expectAccountError(.noKey) { try await store.rotateKey(of: .keyFile) }
        #expect(try folder.bytes() == archive)
        #expect(try folder.names(in: keys) == ["Account.key"])
    }

    @Test func `Removes leftovers beside a key file, and replaces and removes the key`() async throws {
        // Creating the archive removes leftovers of a crash beside the key.
        try FileManager.default.createDirectory(atPath: keys, withIntermediateDirectories: true)
        for path in [folder.path, folder.path + "/Library", keys] {
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
        }
        let leftover = keys + "/Account.key.0123456789abcdef.tmp"
        #expect(FileManager.default.createFile(atPath: leftover, contents: nil))
        let command = KeySource.command(["echo", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="])
        let store = try await signIn(.file, command)
        #expect(try folder.names(in: keys) == ["Account.key"])

        // Rotate.
        let before = try folder.bytes(file.path)
        try await store.rotateKey(of: .keyFile)
        #expect(try folder.bytes(file.path) != before)
        #expect(try folder.names(in: keys) == ["Account.key"])
        try await expectSignedIn(2)

        // Remove the key and its slot.
        let slot = try #require(try await store.keySlots().first { $0.kind == .keyFile })
        try await store.removeKey(slot.id)
        #expect(try folder.names(in: keys) == [])
    }

    @Test func `Deletes the key file when its key slot is removed`() async throws {
        let command = KeySource.command(["echo", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="])
        let store = try await signIn(.file, command)
        let slot = try #require(try await store.keySlots().first { $0.kind == .keyFile })
        try await store.removeKey(slot.id)
        #expect(try folder.names(in: keys) == [])
        let other = AccountStore(container: container, keySources: [command])
        #expect(await other.load().account?.username == "alice")
    }
}
