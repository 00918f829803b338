import AccountCrypto
import AccountTesting
import Foundation
import Synchronization
import Testing

@testable import AccountKit

/// The files of a TPM key, without a TPM.
struct TPMKeyTests {
    private let folder: TemporaryFolder
    private let container: AppContainer

    init() throws {
        folder = try TemporaryFolder()
        container = try folder.container()
    }

    private var keys: String { folder.path + "/Library/Keys" }
    private var path: String { keys + "/Account.tpm" }

    /// A chip that inverts the bits of a key, and adds its number.
    private func chip(_ number: UInt8) -> SecurityChip {
        SecurityChip(
            seal: { key in [0, 1, number, 0, 32] + key.withUnsafeBytes { $0.map { ~$0 } } + [0, 1, 0] },
            unseal: { object throws(SecurityChip.Failure) in
                guard object[2] == number else { throw .otherChip }
                return GuardedBytes(copying: object[5..<37].map { ~$0 })
            })
    }

    private func source(_ number: UInt8 = 1, session: SessionName = .default) -> TPMKey {
        TPMKey(container: container, session: session, chip: chip(number))
    }

    private func store(_ sources: any KeySource...) -> AccountStore {
        AccountStore(container: container, keySources: sources)
    }

    private func signIn(_ store: AccountStore) async throws {
        try await store.signIn {
            Account(
                id: "1", username: "alice",
                credentials: Credentials(accessToken: Secret("access"), issuedAt: Date(timeIntervalSince1970: 1)))
        }
    }

    private func content(of key: ArchiveKey?) -> [UInt8]? {
        guard case .key(let bytes)? = key?.opener else { return nil }
        return bytes.withUnsafeBytes { Array($0) }
    }

    @Test func `Seals a new key in a private file`() async throws {
        #expect(try await source().key() == nil)
        let made = try #require(content(of: try await source().makeKey()))
        #expect(content(of: try await source().key()) == made)
        #expect(content(of: try await source().makeKey()) == made)
        #expect(try folder.names(in: keys) == ["Account.tpm"])
        #expect(try folder.permissions(path) == 0o600)
        #expect(try folder.bytes(path).range(of: Data(made)) == nil)
        let work = source(session: try SessionName("work"))
        #expect(content(of: try await work.makeKey()) != made)
    }

    @Test func `Keeps a sealed key that this machine does not unseal`() async throws {
        try await signIn(store(source()))
        let before = (key: try folder.bytes(path), archive: try folder.bytes())
        let other = source(2)
        await expectAccountError(.noKey) { try await other.key() }
        await expectAccountError(.noKey) { try await other.makeKey() }
        #expect(await store(other).load() == .unreadable(AccountError(.noKey, "")))
        await expectAccountError(.noKey) { try await signIn(store(other)) }
        #expect(try folder.bytes(path) == before.key)
        #expect(try folder.bytes() == before.archive)
        #expect(await store(source()).load().account?.username == "alice")
    }

    @Test func `Keeps a file that is not a sealed key`() async throws {
        try folder.make(keys)
        try Data("mine".utf8).write(to: URL(filePath: path))
        try folder.setPermissions(0o600, of: path)
        await expectAccountError(.damaged) { try await source().makeKey() }
        #expect(try folder.bytes(path) == Data("mine".utf8))
    }

    @Test func `Replaces a sealed key in a rotation, and removes it with its slot`() async throws {
        let file = KeyFile(container: container)
        let store = store(source(), file)
        try await signIn(store)
        let before = (key: try folder.bytes(path), slots: try await store.keySlots())
        #expect(before.slots.map(\.kind) == [.tpm, .keyFile])
        try await store.rotateKey(of: .tpm)
        let slots = try await store.keySlots()
        #expect(slots.map(\.kind) == [.keyFile, .tpm])
        #expect(try folder.bytes(path) != before.key)
        #expect(try folder.names(in: keys) == ["Account.key", "Account.tpm"])
        #expect(await self.store(source()).load().account?.username == "alice")
        try await store.removeKey(slots[1].id)
        #expect(try folder.names(in: keys) == ["Account.key"])
        #expect(await self.store(file).load().account?.username == "alice")
    }
}
