import AccountTesting
import AccountCrypto
import Testing

@testable import AccountKit

struct MoveTests {
    private let places = TwoPlaces()
    private var service: ModelService { places.service }

    private func note(with key: OfflineKey) -> [UInt8] { key.seal.seal([1, 2, 3], type: "note", id: []) }

    @Test func `Moves a session back and forth ten times with a refresh at each place`() async throws {
        try await places.signIn()
        let note = note(with: try await places.store(.here).offlineKey())
        for _ in 1...10 {
            for (source, target) in [(TwoPlaces.Place.here, TwoPlaces.Place.there), (.there, .here)] {
                let moved = try await places.move(source, to: target)
                #expect(moved.username == "alice")
                #expect(moved.move == nil)
                #expect(await places.live() == [target])
                #expect(try await !places.refreshes(source))
                #expect(try await places.refreshes(target))
                let key = try await places.store(target).offlineKey()
                #expect(key.seal.open(note, type: "note", id: []) != nil)
                #expect(Set(places.storage(source).entries.keys) == [.account])
            }
        }
        #expect(service.alarmCount == 0)
        #expect(service.revocationCount == 0)
    }

    @Test func `Keeps the archive's lineage and key slots in a move`() async throws {
        try await places.signIn()
        let before = try places.here.storedGeneration
        let slots = try await places.store(.here).driver.archive.envelope()?.slots
        try await places.move()
        let after = try places.there.storedGeneration
        #expect(after?.lineage == before?.lineage)
        #expect(after?.generation == before.map { $0.generation + 1 })
        #expect(try await places.store(.there).driver.archive.envelope()?.slots == slots)
    }

    @Test func `Keeps the passphrase in a move, and prompts once at each place`() async throws {
        let (first, mover, target, later) = (Person("secret"), Person("secret"), Person(), Person("secret"))
        try await places.store(.here, key: first.key).signIn(
            username: "alice", password: Secret("password"), with: service)
        try await places.store(.here, key: mover.key).moveSession(
            to: places.store(.there, key: target.key), named: "there", from: "here")
        #expect(mover.questions.count == 1)
        #expect(target.questions.isEmpty, "the source already asked for the passphrase")
        let refreshed = try await places.store(.there, key: later.key).refresh(with: service)
        #expect(refreshed.username == "alice")
        #expect(later.questions.count == 1)
        await expectAccountError(.authenticationFailed, "another passphrase does not open it") {
            _ = try await places.store(.there, key: Person("other", "other", "other").key).refresh(with: service)
        }
    }

    @Test func `Returns a valid token at a move's source, then names the target`() async throws {
        try await places.signIn()
        let token = try await places.store(.here).accessToken(timeout: nil, with: service)
        try await places.move()
        let left = places.store(.here)
        #expect(try await left.accessToken(timeout: nil, with: service) == token)
        guard case .verified(let account) = await left.checkSession(with: service, timeout: nil) else {
            Issue.record("the service knows the token")
            return
        }
        #expect(account.move?.place == "there")
        #expect(account.move?.isComplete == true)

        places.clock.advance(by: .seconds(7200))
        for _ in 1...2 {
            let error = await expectAccountError(.moved) { try await left.accessToken(timeout: nil, with: service) }
            #expect(error?.description.contains("was moved to there") == true)
            await expectAccountError(.moved) { try await left.refresh(with: service) }
            await expectAccountError(.moved) {
                try await left.accessToken(for: try TokenTarget(resources: ["urn:api"]), timeout: nil, with: service)
            }
            #expect(await left.checkSession(with: service, timeout: nil).unverifiedReason == .moved)
        }
        _ = try await places.store(.there).accessToken(timeout: nil, with: service)
        #expect(service.alarmCount == 0)
    }

    @Test func `Only a move's target renews the session of a machine`() async throws {
        let now = places.clock.now
        try await places.store(.here).signIn { .machine(at: now) }
        try await places.move()
        let (left, there) = (await places.store(.here).load().account, await places.store(.there).load().account)
        #expect(left?.credentials.machine != nil && left?.isRenewable == false)
        #expect(there?.isRenewable == true)
        places.clock.advance(by: .seconds(3600))
        let authority = ScriptedAuthority(clock: places.clock)
        await expectAccountError(.moved) {
            try await places.store(.here).accessToken(timeout: nil, with: authority)
        }
        #expect(authority.requests == [])
    }

    @Test func `Does not end the session at a move's source after a rejected token`() async throws {
        try await places.signIn()
        try await places.move()
        let authority = ScriptedAuthority(
            verify: [.refuse(.bearerChallenge(error: "invalid_token"))], clock: places.clock)
        #expect(await places.store(.here).checkSession(with: authority, timeout: nil).unverifiedReason == .moved)
        #expect(await places.store(.here).load().account?.move != nil)
    }

    @Test func `Does not refresh a moved session from another process's memory`() async throws {
        try await places.signIn()
        let process = places.store(.here)
        let known = try #require(await process.load().account)
        try await places.move()
        places.clock.advance(by: .seconds(7200))
        guard case .kept(_, let reason) = await process.driver.refresh(known, service) else {
            Issue.record("the refresh token was sent")
            return
        }
        #expect(reason.code == .moved)
        #expect(try await places.refreshes(.there))
        #expect(service.alarmCount == 0)
    }

    @Test func `Waits for a running refresh before a move, and moves the new tokens`() async throws {
        try await places.signIn()
        let authority = ScriptedAuthority(refresh: [.hang], clock: places.clock)
        let process = places.store(.here)
        async let refreshed = process.refresh(with: authority)
        await authority.waitForRequest(.refresh)
        await expectAccountError(.busy) {
            let hasty = places.store(.here, lockTimeout: .milliseconds(20))
            try await hasty.moveSession(to: places.store(.there), named: "there", from: "here")
        }
        async let moved = places.move()
        authority.release()
        let tokens = try await refreshed.credentials.refreshToken
        #expect(try await moved.credentials.refreshToken == tokens)
    }

    @Test func `Fails a move while a refresh is unfinished`() async throws {
        try await places.signIn()
        let transaction = try await places.here.beginTransaction(timeout: .seconds(1))
        _ = try await RefreshJournal(storage: places.here).recordIntent(at: places.clock.now, in: transaction)
        await transaction.end()
        let error = await expectAccountError(.busy) { try await places.move() }
        #expect(error?.description.contains("refresh first") == true)
        #expect(places.there.entries.isEmpty)
        #expect(try await places.refreshes(.here))
        try await places.move()
        #expect(try await places.refreshes(.there))
    }

    @Test func `Does not replace a session at the target of a move`() async throws {
        try await places.signIn()
        try await places.signIn(.there, as: "bob")
        let before = places.there.entries
        let error = await expectAccountError(.conflict) { try await places.move() }
        #expect(error?.description.contains("bob is signed in at there") == true)
        #expect(places.there.entries == before)
        #expect(try await places.refreshes(.here))
    }

    @Test func `Refuses a move to a target with another sign-in until the sign-out`()
        async throws
    {
        try await interruptAfterLeaving()
        try await places.signIn(.there, as: "bob")
        await expectAccountError(.conflict) { try await places.move() }
        #expect(await places.store(.there).load().account?.username == "bob")
        try await places.store(.there).signOut(with: service)
        try await places.move()
        #expect(await places.store(.there).load().account?.username == "alice")
        #expect(try await places.refreshes(.there))
    }

    @Test func `Deletes an earlier sign-out record at the target of a move`() async throws {
        try await places.signIn(.there, as: "bob")
        try await places.store(.there).signOut(with: service)
        try await places.signIn()
        try await places.move()
        #expect(places.there.entries[.signOut] == nil)
        try await places.store(.there).signOut(with: service)
        await expectAccountError(.notSignedIn) { try await places.move(.there, to: .here) }
        let error = await expectAccountError(.notSignedIn) { try await places.move() }
        #expect(error?.description.contains("no longer exists there") == true)
    }

    @Test func `Keeps the moved session after a sign-out at the source`() async throws {
        try await places.signIn()
        try await places.move()
        let report = try await places.store(.here).signOut(with: service)
        #expect(report.account?.move?.place == "there")
        #expect(report.revocation == .notNeeded)
        #expect(service.revocationCount == 0)
        #expect(await places.store(.here).load().account == nil)
        #expect(try await places.refreshes(.there))
    }

    @Test func `Creates a separate session at a sign-in at a move's source`() async throws {
        try await places.signIn()
        try await places.move()
        try await places.signIn(.here, as: "bob")
        #expect(await places.store(.here).load().account?.move == nil)
        #expect(await places.store(.here).deliverRevocations(with: { _ in service }).isEmpty)
        #expect(try await places.refreshes(.here))
        #expect(try await places.refreshes(.there))
        #expect(service.revocationCount == 0)
    }

    @Test func `Fails a sign-out during a move unless the sign-out is local`() async throws {
        try await interruptAfterLeaving()
        await expectAccountError(.moved) { try await places.store(.here).signOut(with: service) }
        #expect(await places.store(.here).load().account?.move?.isComplete == false)
        let waiting = try await places.store(.there).incomingMove()
        #expect(waiting?.place == "here")
        #expect(try await !places.refreshes(.here))
        try await places.store(.here).signOut()
        #expect(await places.store(.here).load().account == nil)
    }

    @Test func `Discards a waiting session after a sign-out at the target`() async throws {
        try await interruptAfterLeaving()
        try await places.store(.there).signOut(with: service)
        #expect(places.there.entries[.incoming] == nil)
        await expectAccountError(.notSignedIn) { try await places.move() }
    }

    @Test func `A retried move does not restore a session after a sign-out`() async throws {
        try await places.signIn()
        // Try every crash between storing the account and removing the waiting copy.
        var deaths = 0
        for calls in 1...200 {
            let places = TwoPlaces()
            try await places.signIn()
            let life = Life(calls: calls)
            let source = places.store(.here, on: MortalStorage(base: places.here, life: life))
            let target = places.store(.there, on: MortalStorage(base: places.there, life: life))
            _ = try? await source.moveSession(to: target, named: "there", from: "here")
            guard places.there.entries[.account] != nil, places.there.entries[.incoming] != nil else { continue }
            deaths += 1
            try await places.store(.there).signOut(with: places.service)
            await expectAccountError(.notSignedIn) { try await places.move() }
            #expect(places.there.entries[.account] == nil)
        }
        #expect(deaths > 0)
    }

    @Test func `Continues an interrupted move only to the same place`() async throws {
        try await interruptAfterLeaving()
        let third = InMemoryArchiveStorage()
        let error = await expectAccountError(.moved) {
            try await places.store(.here).moveSession(
                to: places.store(.there, on: third), named: "third", from: "here")
        }
        #expect(error?.description.contains("to there") == true)
        #expect(third.entries.isEmpty)
        // Another session cannot replace the waiting one.
        try await places.store(.here, on: third).signIn(username: "bob", password: Secret("password"), with: service)
        await expectAccountError(.conflict) {
            try await places.store(.here, on: third).moveSession(
                to: places.store(.there), named: "there", from: "third")
        }
        // The session cannot move back before it has arrived.
        await expectAccountError(.notSignedIn) { try await places.move(.there, to: .here) }
        try await places.move()
        #expect(try await places.refreshes(.there))
    }

    @Test func `Changes nothing when a completed move is repeated`() async throws {
        try await places.signIn()
        try await places.move()
        let before = (places.here.entries, places.there.entries)
        #expect(try await places.move().username == "alice")
        #expect(places.here.entries == before.0)
        #expect(places.there.entries == before.1)
    }

    @Test func `Does not overwrite another offline key at the target of a move`() async throws {
        try await places.signIn(.there)
        _ = try await places.store(.there).offlineKey()
        service.endSessions()
        _ = await places.store(.there).checkSession(with: service, timeout: nil)
        try await places.signIn()
        _ = try await places.store(.here).offlineKey()
        await expectAccountError(.conflict) { try await places.move() }
        #expect(try await places.refreshes(.here))
    }

    @Test func `Creates no offline key at the source of a completed move`() async throws {
        try await places.signIn()
        try await places.move()
        await expectAccountError(.moved) { _ = try await places.store(.here).offlineKey() }
    }

    @Test func `Requires another place with the same app and session for a move`() async throws {
        try await places.signIn()
        let other = AccountStore(
            storage: places.there, appIdentifier: "testing", session: try SessionName("work"),
            keySources: [InMemoryKey()])
        await expectAccountError(.invalidArgument) {
            try await places.store(.here).moveSession(to: other, named: "there", from: "here")
        }
        await expectAccountError(.invalidArgument) { try await places.move(.here, to: .here) }
    }

    @Test func `Does not overwrite an archive that cannot be opened in a move`() async throws {
        try await places.signIn()
        places.there.overwrite(.account, with: [1, 2, 3])
        await expectAccountError(.damaged) { try await places.move() }
        #expect(places.there.entries[.account]?.bytes == [1, 2, 3])
        #expect(try await places.refreshes(.here))
    }

    // MARK: Damaged copies

    /// Invalid bytes, a truncated copy, a copy with a flipped bit, and a copy above the size limit.
    private static let damages: [@Sendable (_ copy: [UInt8]) -> [UInt8]] = [
        { _ in [1, 2, 3] }, { Array($0.dropLast(9)) },
        { copy in
            var copy = copy
            copy[copy.count / 2] ^= 1
            return copy
        },
        { _ in [UInt8](repeating: 0, count: 1024 * 1024 + 1) },
    ]

    /// A session that was moved to the target, with a damaged copy beside it.
    private func arrive(leaving damage: @Sendable (_ copy: [UInt8]) -> [UInt8]) async throws -> [UInt8] {
        try await interruptAfterLeaving()
        let copy = try #require(places.there.entries[.incoming]?.bytes)
        try await places.move()
        let bytes = damage(copy)
        places.there.overwrite(.incoming, with: bytes)
        return bytes
    }

    private func expectQuarantined(_ bytes: [UInt8]) {
        #expect(places.there.entries[.incoming] == nil)
        let aside = places.there.entries.filter { $0.key.rawValue.hasPrefix("Incoming.plist.unreadable") }
        #expect(aside.values.map(\.bytes) == [bytes])
    }

    @Test(arguments: damages.indices)
    func `Signs out despite a damaged copy of a moved session`(index: Int) async throws {
        let bytes = try await arrive(leaving: Self.damages[index])
        try await places.store(.there).signOut(with: service)
        #expect(await places.store(.there).load().account == nil)
        #expect(service.revocationCount == 1)
        expectQuarantined(bytes)
    }

    @Test(arguments: damages.indices)
    func `Signs in despite a damaged copy of a moved session`(index: Int) async throws {
        let bytes = try await arrive(leaving: Self.damages[index])
        try await places.signIn(.there, as: "bob")
        #expect(await places.store(.there).load().account?.username == "bob")
        expectQuarantined(bytes)
    }

    @Test(arguments: damages.indices)
    func `Signs out after a definite rejection despite a damaged copy`(index: Int) async throws {
        let bytes = try await arrive(leaving: Self.damages[index])
        service.endSessions()
        await expectAccountError(.notSignedIn) { try await places.store(.there).refresh(with: service) }
        #expect(await places.store(.there).load().account == nil)
        expectQuarantined(bytes)
    }

    @Test(arguments: damages.indices)
    func `Quarantines a damaged copy after a sign-out at the target`(index: Int) async throws {
        let bytes = Self.damages[index]([UInt8](repeating: 7, count: 100))
        places.there.overwrite(.incoming, with: bytes)
        try await places.store(.there).signOut(with: service)
        expectQuarantined(bytes)
    }

    /// The process dies after the source loses its refresh token, and before the target gets it.
    private func interruptAfterLeaving() async throws {
        try await places.signIn()
        let target = HookedStorage(base: places.there) { [here = places.here] entry in
            let store = AccountStore(storage: here, appIdentifier: "testing", keySources: [InMemoryKey()])
            if await store.load().account?.move != nil { throw AccountError(.inaccessible, "the process is dead") }
        }
        await expectAccountError(.inaccessible) {
            try await places.store(.here).moveSession(
                to: places.store(.there, on: target), named: "there", from: "here")
        }
        #expect(await places.live().isEmpty)
    }
}

extension SessionState {
    fileprivate var unverifiedReason: UnverifiedReason.Code? {
        if case .unverified(_, let reason) = self { reason.code } else { nil }
    }
}
