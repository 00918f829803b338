import AccountTesting
import AccountCrypto
import Synchronization
import TestScene
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import AccountKit

/// Several keys for one archive: adding, removing and replacing them.
struct AccountStoreKeysTests {
    private let clock = ManualClock()
    private let storage = InMemoryArchiveStorage()

    private func store(_ sources: any KeyProvider..., on other: (any ArchiveStorage)? = nil) -> AccountStore {
        AccountStore(
            storage: other ?? storage, appIdentifier: "testing", keys: sources, clock: clock,
            lockTimeout: .seconds(10))
    }

    /// Whether a process with only this key can open the archive.
    private func opens(_ source: any KeyProvider) async -> Bool {
        await store(source).load().account == .fresh(at: clock.now)
    }

    private func signedIn(_ sources: any KeyProvider..., on other: (any ArchiveStorage)? = nil) async throws
        -> AccountStore
    {
        let store = AccountStore(
            storage: other ?? storage, appIdentifier: "testing", keys: sources, clock: clock,
            lockTimeout: .seconds(10))
        try await store.signIn { .fresh(at: clock.now) }
        return store
    }

    private static let file = TestKey(.keyFile, 1)
    private static let command = TestKey(.command, 2)
    private static let environment = TestKey(.environment, 3)

    // MARK: Several keys

    @Test func `Opens a new archive with each of its key sources alone`() async throws {
        let person = Person("one two", "one two")
        let store = try await signedIn(Self.file, Self.command, person.key)
        #expect(try await store.keySlots().map(\.kind) == [.keyFile, .command, .passphrase])
        #expect(person.questions == [.new])
        for source in [Self.file, Self.command, person.key] as [any KeyProvider] { #expect(await opens(source)) }
        #expect(await self.store(Self.environment).load() == .unreadable(AccountError(.noKey, "")))
        #expect(await self.store(TestKey(.keyFile, 9)).load() == .unreadable(AccountError(.wrongKeyOrDamaged, "")))
    }

    @Test func `Keeps every key slot in a save`() async throws {
        let store = try await signedIn(Self.file, Self.command)
        let slots = try await store.keySlots()
        try await self.store(Self.command).update { $0.profile.nickname = "Al" }
        #expect(try await store.keySlots() == slots)
        #expect(await self.store(Self.file).load().account?.profile.nickname == "Al")
    }

    @Test func `Tries the next key source after a failure, else reports the failure`()
        async throws
    {
        _ = try await signedIn(Self.file, Self.command)
        let failing = TestKey(.keyFile, failingWith: AccountError(.insecureContainer, "others can use the key"))
        #expect(await store(failing, Self.command).load().account == .fresh(at: clock.now))
        #expect(await store(failing).load() == .unreadable(AccountError(.insecureContainer, "")))
        #expect(await store(failing, Self.environment).load() == .unreadable(AccountError(.insecureContainer, "")))
    }

    @Test func `Creates no archive if one of its keys is unavailable`() async throws {
        let missing = TestKey(.command, failingWith: AccountError(.noKey, "the keyring is locked"))
        let store = store(Self.file, missing)
        await expectAccountError(.noKey) { try await store.signIn { .fresh(at: clock.now) } }
        #expect(storage.entries.isEmpty)
    }

    // MARK: A passphrase

    @Test func `Prompts for a passphrase at most three times if no other key works`()
        async throws
    {
        let person = Person("one two")
        _ = try await signedIn(Self.file, person.key)
        let idle = Person("one two")
        #expect(await store(idle.key, Self.file).load().account == .fresh(at: clock.now))
        #expect(idle.questions == [])

        let slip = Person("one tow", "one two")
        #expect(await store(slip.key).load().account == .fresh(at: clock.now))
        #expect(slip.questions == [.existing(attempt: 1), .existing(attempt: 2)])

        let stranger = Person("a", "b", "c", "one two")
        #expect(await store(stranger.key).load() == .unreadable(AccountError(.wrongKeyOrDamaged, "")))
        #expect(stranger.questions == [1, 2, 3].map { .existing(attempt: $0) })

        let gone = Person()
        #expect(await store(gone.key).load() == .unreadable(AccountError(.cancelled, "")))
    }

    @Test func `Prompts for a passphrase only once in a process`() async throws {
        _ = try await signedIn(Person("one two").key)
        let person = Person("one two")
        let store = store(person.key)
        _ = await store.load()
        try await store.update { $0.profile.nickname = "Al" }
        try await store.signIn { .fresh(at: clock.now) }
        _ = try await store.signOut(with: ScriptedAuthority(revoke: [.refuse(.noResponse(.timeout))], clock: clock))
        #expect(try await store.pendingRevocations().count == 1, "reading the queue asks no question")
        #expect(person.questions == [.existing(attempt: 1)])
    }

    @Test func `Keeps a passphrase archive at a sign-in without the passphrase`() async throws {
        _ = try await signedIn(Person("one two").key)
        let before = storage.entries
        let store = store(Person().key)
        await expectAccountError(.cancelled) { try await store.signIn { .fresh(at: clock.now) } }
        #expect(storage.entries == before)
    }

    @Test func `Keeps a locked archive at a sign-in or sign-out`() async throws {
        let person = Person("one two")
        _ = try await signedIn(person.key)
        let before = storage.entries
        let locked = PassphraseKey(cost: Person.cost) { question in
            throw AccountError(question == .new ? .invalidArgument : .noKey, "there is no terminal")
        }
        await expectAccountError(.noKey) { try await store(locked).signIn { .fresh(at: clock.now) } }
        let authority = ScriptedAuthority(clock: clock)
        await expectAccountError(.noKey) { try await store(locked).signOut(with: authority) }
        #expect(storage.entries == before)
        #expect(authority.requests.isEmpty)
        // The user gives up the key.
        let moved = try #require(try await store(locked).replacingUnreadableArchive().signOut().quarantinedArchive)
        #expect(storage.entries[ArchiveEntry(rawValue: moved)]?.bytes == before[.account]?.bytes)
    }

    @Test func `Keeps an archive whose key is missing in the environment, and names the variable`() async throws {
        _ = try await signedIn(Self.environment)
        let before = storage.entries
        let store = store(EnvironmentKey(variable: "NOTES_KEY", credential: "notes.key") { _ in nil })
        for error in [
            await expectAccountError(.noKey, performing: { try await store.signIn { .fresh(at: clock.now) } }),
            await expectAccountError(.noKey, performing: { try await store.signOut() }),
        ] {
            #expect(error?.hint == "restore the key in NOTES_KEY")
        }
        #expect(storage.entries == before)
    }

    @Test func `Does not replace a passphrase archive at a sign-in with a key file`()
        async throws
    {
        _ = try await signedIn(Person("one two").key)
        let before = storage.entries
        let store = store(Self.file)
        await expectAccountError(.noKey) { try await store.signIn { .fresh(at: clock.now) } }
        #expect(storage.entries == before)
    }

    @Test func `Prompts for no passphrase while the process holds the lock`() async throws {
        _ = try await signedIn(Person("one two").key)
        for attempt in 0..<3 {
            let busy = Mutex(0)
            let person = PassphraseKey(cost: Person.cost) { [storage] _ in
                do {
                    await (try storage.beginTransaction(timeout: .zero)).end()
                } catch {
                    busy.withLock { $0 += 1 }
                }
                return Secret("one two")
            }
            let store = self.store(person)
            switch attempt {
            case 0: try await store.update { $0.profile.points = 1 }
            case 1: try await store.rotateKey(of: .passphrase)
            default: _ = try await store.signOut()
            }
            #expect(busy.withLock { $0 } == 0)
        }
    }

    @Test func `Prompts for a replaced passphrase before acquiring the lock`() async throws {
        let store = try await signedIn(Person("one two", "three").key)
        let other = Person("one two", "three")
        try await self.store(other.key).rotateKey(of: .passphrase)
        try await store.update { $0.profile.points = 1 }
        #expect(await self.store(Person("three").key).load().account?.profile.points == 1)
    }

    @Test func `Keeps the archive usable if the user enters an old passphrase late`() async throws {
        _ = try await signedIn(Person("one two").key)
        let (asked, tellAsked) = AsyncStream.makeStream(of: Void.self)
        let (answered, answer) = AsyncStream.makeStream(of: Void.self)
        let count = Mutex(0)
        let person = PassphraseKey(cost: Person.cost) { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            if number > 1 { return Secret("three") }
            tellAsked.finish()
            for await _ in answered {}
            return Secret("one two")
        }
        let store = self.store(person)
        async let late = store.load()
        for await _ in asked {}
        try await self.store(Person("one two", "three").key).rotateKey(of: .passphrase)
        _ = await store.load()
        answer.finish()
        _ = await late
        try await store.update { $0.profile.points = 1 }
        #expect(count.withLock { $0 } == 2)
        #expect(await self.store(Person("three").key).load().account?.profile.points == 1)
    }

    @Test func `Refuses more than eight keys before the sign-in`() async throws {
        let sources = (1...9).map { TestKey(.command, UInt8($0)) as any KeyProvider }
        let store = AccountStore(storage: storage, appIdentifier: "testing", keys: sources, clock: clock)
        await expectAccountError(.invalidArgument) { try await store.signIn { .fresh(at: clock.now) } }
        #expect(storage.entries.isEmpty)
    }

    // MARK: A key program

    @Test func `Runs the key program only once, and without the lock`() async throws {
        let runs = Mutex(0)
        let program = TestKey(
            .command,
            before: {
                runs.withLock { $0 += 1 }
                let transaction = try await storage.beginTransaction(timeout: .zero)
                await transaction.end()
            }
        ) { 2 }
        let store = try await signedIn(program)
        #expect(runs.withLock(\.self) == 1)
        try await store.update { $0.profile.nickname = "Ally" }
        #expect(runs.withLock(\.self) == 1)
        try await self.store(program).update { $0.profile.nickname = "Al" }
        #expect(runs.withLock(\.self) == 2)
        try await self.store(program).signOut()
        #expect(runs.withLock(\.self) == 3)
    }

    // MARK: Adding

    @Test func `Opens the archive with an added key, and ignores a repeated addition`() async throws {
        let store = try await signedIn(Self.file)
        let slot = try await store.addKey(from: Self.command)
        #expect(try await store.addKey(from: Self.command).id == slot.id)
        let person = Person("one two", "one two")
        try await store.addKey(from: person.key)
        #expect(person.questions == [.new])
        #expect(try await store.keySlots().map(\.kind) == [.keyFile, .command, .passphrase])
        #expect(try await store.keySlots().map(\.isAvailable) == [true, false, false])
        for source in [Self.file, Self.command, person.key] as [any KeyProvider] { #expect(await opens(source)) }
    }

    @Test func `Refuses a ninth key for an archive`() async throws {
        let store = try await signedIn(Self.file)
        for byte in 2...8 { try await store.addKey(from: TestKey(.command, UInt8(byte))) }
        let before = storage.entries
        await expectAccountError(.invalidArgument) {
            try await store.addKey(from: TestKey(.command, 9))
        }
        #expect(storage.entries == before)
    }

    @Test func `Throws notSignedIn for a key change without an archive`() async throws {
        let store = store(Self.file)
        #expect(try await store.keySlots().isEmpty)
        await expectAccountError(.notSignedIn) { try await store.addKey(from: Self.command) }
        await expectAccountError(.notSignedIn) { try await store.removeKey("00") }
        await expectAccountError(.notSignedIn) { try await store.unlock(for: .seconds(1)) }
        #expect(storage.entries.isEmpty)
    }

    // MARK: Removing

    @Test func `Does not open later versions of an archive with a removed key`() async throws {
        let store = try await signedIn(Self.file, Self.command)
        // Another process has the archive open with the earlier data key.
        let other = self.store(Self.command)
        _ = await other.load()
        let slots = try await store.keySlots()
        let dataKey = try archive().dataKeyID
        try await store.removeKey(slots[1].id)
        #expect(try archive().dataKeyID != dataKey)
        #expect(try await store.keySlots().map(\.id) == [slots[0].id])
        #expect(await opens(Self.file))
        #expect(await other.load() == .unreadable(AccountError(.noKey, "")))
    }

    @Test func `Refuses to remove the only key or an unknown key`() async throws {
        let store = try await signedIn(Self.file)
        let before = storage.entries
        for id in [try await store.keySlots()[0].id, "00", ""] {
            await expectAccountError(.invalidArgument) { try await store.removeKey(id) }
        }
        #expect(storage.entries == before)
    }

    @Test func `Removes no key if a remaining key is unavailable`() async throws {
        let store = try await signedIn(Self.file, Self.command, Self.environment)
        let slots = try await store.keySlots()
        let before = storage.entries
        let away = self.store(Self.file, Self.environment)
        await expectAccountError(.noKey) { try await away.removeKey(slots[2].id) }
        #expect(storage.entries == before)
        // The unavailable key itself can be removed.
        try await away.removeKey(slots[1].id)
        #expect(try await store.keySlots().map(\.id) == [slots[0].id, slots[2].id])
    }

    @Test func `Removes a forgotten passphrase`() async throws {
        let store = try await signedIn(Self.file, Person("one two").key)
        let slots = try await store.keySlots()
        let person = Person()
        try await self.store(Self.file, person.key).removeKey(slots[1].id)
        #expect(person.questions == [])
        #expect(await opens(Self.file))
    }

    // MARK: Replacing

    @Test func `Replaces an old passphrase with a new passphrase`() async throws {
        _ = try await signedIn(Self.file, Person("old").key)
        let dataKey = try archive().dataKeyID
        let person = Person("old", "new")
        let store = store(Self.file, person.key)
        try await store.rotateKey(of: .passphrase)
        #expect(person.questions == [.existing(attempt: 1), .new])
        #expect(await opens(Person("new").key))
        #expect(await opens(Self.file))
        #expect(
            await self.store(Person("old", "old", "old").key).load()
                == .unreadable(AccountError(.wrongKeyOrDamaged, "")))
        #expect(try archive().dataKeyID != dataKey)
        #expect(try await store.keySlots().map(\.kind) == [.keyFile, .passphrase])
    }

    @Test func `Refuses to rotate a key that AccountKit does not manage`() async throws {
        let store = try await signedIn(Self.command)
        for kind in [KeyKind.command, .passphrase] {
            await expectAccountError(.invalidArgument) { try await store.rotateKey(of: kind) }
        }
    }

    @Test func `Keeps the old keys if the disk does not confirm the new keys`() async throws {
        let unsure = HookedStorage(base: storage, durability: .unknown(reason: "fsync"))
        let store = try await signedIn(Self.file, Person("old").key, on: unsure)
        await expectAccountError(.durabilityUnknown) {
            try await self.store(Self.file, Person("old", "new").key, on: unsure).rotateKey(of: .passphrase)
        }
        _ = store
        #expect(await opens(Person("old").key))
        #expect(await opens(Person("old", "new").key))
    }

    // MARK: Other entries of the session

    @Test func `Keeps a queued revocation readable after a change of keys`() async throws {
        let store = try await signedIn(Self.file, Self.command)
        _ = try await store.signOut(with: ScriptedAuthority(revoke: [.refuse(.noResponse(.timeout))], clock: clock))
        try await store.signIn { Account.testing(id: "bob", at: clock.now).with(token: "b", refreshToken: "c") }
        let other = self.store(Self.file, Self.command)
        for slot in try await other.keySlots() where slot.kind == .command { try await other.removeKey(slot.id) }
        #expect(try await self.store(Self.file).pendingRevocations().count == 1)
        #expect(try await self.store(Self.command).pendingRevocations().isEmpty, "the removed key opens nothing")
        let authority = ScriptedAuthority(clock: clock)
        _ = await self.store(Self.file).deliverRevocations(with: { _ in authority }, ignoringPauses: true)
        #expect(authority.requests == [.revoke])
    }

    @Test func `Saves unsaved tokens with the new keys`() async throws {
        let faulty = FaultyArchiveStorage(storage)
        let store = try await signedIn(Self.file, on: faulty)
        // The second write stores the intent, the third the tokens.
        for number in 2...3 { faulty.inject(.fails(FaultyArchiveStorage.diskFull), at: number, of: .replace) }
        _ = try? await store.refresh(with: ScriptedAuthority(clock: clock))
        let tokens = store.account?.credentials
        #expect(tokens?.accessToken != Account.fresh(at: clock.now).credentials.accessToken)
        try await store.addKey(from: Self.command)
        #expect(await self.store(Self.command).load().account?.credentials == tokens)
    }

    @Test(arguments: 1...40)
    func `Opens the archive with its keys after any failed key change`(number: Int) async throws {
        for change in Change.allCases {
            let storage = InMemoryArchiveStorage()
            let faulty = FaultyArchiveStorage(storage)
            let before = Person("old")
            let setUp = store(Self.file, before.key, on: storage)
            try await setUp.signIn { .fresh(at: clock.now) }
            let slot = try await setUp.keySlots()[1].id

            let store = store(Self.file, Person("old", "new").key, on: faulty)
            faulty.inject(.fails(FaultyArchiveStorage.diskFull), at: number)
            var hasFailed = false
            do {
                switch change {
                case .add: try await store.addKey(from: Self.command)
                case .remove: try await store.removeKey(slot)
                case .rotate: try await store.rotateKey(of: .passphrase)
                }
            } catch {
                hasFailed = true
            }
            let account = Account.fresh(at: clock.now)
            #expect(await self.store(Self.file, on: storage).load().account == account)
            switch (change, hasFailed) {
            case (.add, false): #expect(await self.store(Self.command, on: storage).load().account == account)
            case (.remove, false): #expect(try await self.store(Self.file, on: storage).keySlots().count == 1)
            case (.rotate, false): #expect(await self.store(Person("new").key, on: storage).load().account == account)
            // Either key opens the archive, or both do.
            case (_, true):
                #expect(
                    await self.store(Person("old", "new").key, on: storage).load().account == account
                        || change == .remove)
            }
            // A retry succeeds.
            if hasFailed, change == .rotate {
                try await self.store(Self.file, Person("old", "new", "newer").key, on: storage)
                    .rotateKey(of: .passphrase)
                #expect(await self.store(Person("new", "newer").key, on: storage).load().account == account)
            }
        }
    }

    enum Change: CaseIterable { case add, remove, rotate }

    @Test func `Does not report a wrong key if the key is replaced during a load`() async throws {
        let byte = Mutex(UInt8(1))
        let file = TestKey(.keyFile) { byte.withLock { $0 } }
        _ = try await signedIn(file)
        let other = store(file, TestKey(.keyFile, 4))
        // Another process replaces archive and key after this one read the archive, and before it reads the key.
        let slow = TestKey(
            .keyFile,
            before: {
                guard byte.withLock({ $0 }) == 1 else { return }
                try await other.addKey(from: TestKey(.keyFile, 4))
                let old = try await other.keySlots()[0].id
                try await other.removeKey(old)
                byte.withLock { $0 = 4 }
            }
        ) { byte.withLock { $0 } }
        #expect(await store(slow).load().account == .fresh(at: clock.now))
        #expect(try await store(TestKey(.keyFile, 4)).keySlots().count == 1)
    }

    private func archive() throws -> Envelope {
        try Envelope(parsing: try ArchivePropertyList.decode(try #require(storage.entries[.account]).bytes))
    }
}
