import AccountKit
import AccountTesting
import TestScene
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Every call to the storage fails once, in every operation of a store.
struct StorageFaultTests {
    /// An operation of a store.
    enum Operation: CaseIterable {
        case firstSignIn, signIn, signInOverDamage, load, check, checkExpired, checkRejected, refresh, earlyToken
        case derive, exchange, update, updateProfile, signOut, endOnCheck, endOnRefresh

        /// Whether the operation is meant to sign the user out.
        var endsSession: Bool { [.signOut, .endOnCheck, .endOnRefresh].contains(self) }

        /// The account that is signed in before.
        func before(_ service: ModelService, _ clock: ManualClock) -> Account? {
            if self == .firstSignIn { return nil }
            var account = service.account(of: "alice")
            switch self {
            case .checkExpired: account.credentials.expiresAt = clock.now.addingTimeInterval(-1)
            case .checkRejected: account.credentials.accessToken = Secret("withdrawn")
            case .earlyToken: account.credentials.expiresAt = clock.now.addingTimeInterval(30)
            case .endOnCheck: account.credentials.refreshToken = nil
            default: break
            }
            return account
        }

        func run(_ store: AccountStore, _ service: ModelService) async throws {
            switch self {
            case .firstSignIn, .signIn, .signInOverDamage:
                try await store.signIn(username: "bob", password: Secret("password"), with: service)
            case .load: _ = await store.load()
            case .check, .checkExpired, .checkRejected: _ = await store.checkSession(with: service, timeout: nil)
            case .refresh: try await store.refresh(with: service)
            case .earlyToken:
                _ = try await store.accessToken(minimumValidity: .seconds(60), timeout: nil, with: service)
            case .derive:
                _ = try await store.accessToken(
                    for: try TokenTarget(resources: ["urn:api"]), timeout: nil, with: service)
            case .exchange:
                _ = try await store.accessToken(for: try TokenTarget(audience: "api"), timeout: nil, with: service)
            case .update: try await store.update { $0.profile.points = 7 }
            case .updateProfile: try await store.sendProfile(to: service) { $0.points = 7 }
            case .signOut: try await store.signOut(with: service)
            case .endOnCheck, .endOnRefresh:
                service.endSessions()
                _ = await store.checkSession(with: service, timeout: nil)
            }
        }
    }

    private struct Scene {
        let base = InMemoryArchiveStorage()
        let storage: FaultyArchiveStorage
        let clock = ManualClock()
        let service: ModelService
        let store: AccountStore
        let before: Account?

        init(_ operation: Operation) async throws {
            storage = FaultyArchiveStorage(base)
            service = ModelService(clock: clock)
            before = operation.before(service, clock)
            _ = try await AccountStore.inMemory(signedIn: before, clock: clock, storage: base)
            if operation == .signInOverDamage { base.overwrite(.account, with: [1, 2, 3]) }
            store = try await AccountStore.inMemory(signedIn: nil, clock: clock, storage: storage)
        }
    }

    /// The number of calls of an operation without failures.
    private func callCount(of operation: Operation) async throws -> Int {
        let scene = try await Scene(operation)
        try await operation.run(scene.store, scene.service)
        return scene.storage.callCount
    }

    @Test(arguments: Operation.allCases, Fixture.failures.prefix(3))
    func `Stores the old or the new account, whichever storage call fails`(
        operation: Operation, error: AccountError
    ) async throws {
        let count = try await callCount(of: operation)
        try #require(count > 0)
        for number in 1...count {
            let scene = try await Scene(operation)
            let generation = try? scene.base.storedGeneration
            scene.storage.inject(.fails(error), at: number)
            let result = await Result { try await operation.run(scene.store, scene.service) }
            let state = try await scene.base.stateForNewProcess()
            switch state {
            case .unverified(let account, _):
                let isNew = account.username == "bob" || operation == .updateProfile || operation == .update
                #expect(isNew || account.isSameUser(as: scene.before ?? account), "call \(number)")
            case .signedOut:
                #expect(operation.endsSession || operation == .firstSignIn, "call \(number) signs out")
            case .unreadable(let reason):
                #expect(operation == .signInOverDamage && reason.code == .damaged, "call \(number): \(reason)")
            case .verified: Issue.record("the state at the service is unknown here")
            }
            // An operation that succeeded has taken effect.
            if case .success = result {
                switch operation {
                case .firstSignIn, .signIn, .signInOverDamage: #expect(state.account?.username == "bob", "\(number)")
                case .update, .updateProfile: #expect(state.account?.profile.points == 7, "call \(number)")
                case .signOut: #expect(state.account == nil, "call \(number)")
                case .derive, .exchange:
                    // The account's own token is unchanged.
                    let token = scene.before?.credentials.accessToken
                    #expect(state.account?.credentials.accessToken == token, "call \(number)")
                default: break
                }
            }
            if let before = generation, let after = try scene.base.storedGeneration, operation != .signInOverDamage {
                #expect(after.lineage == before.lineage && after.generation >= before.generation, "call \(number)")
            }
        }
    }

    @Test(arguments: Operation.allCases.filter { !$0.endsSession && $0 != .firstSignIn && $0 != .signInOverDamage })
    func `Continues with valid tokens, whichever two storage calls fail`(operation: Operation) async throws {
        let count = try await callCount(of: operation) + 2
        for first in 1..<count {
            for second in first + 1...count {
                let scene = try await Scene(operation)
                scene.storage.inject(.fails(FaultyArchiveStorage.diskFull), at: first)
                scene.storage.inject(.fails(FaultyArchiveStorage.diskFull), at: second)
                _ = await Result { try await operation.run(scene.store, scene.service) }

                // The disk works again: use up the faults that have not occurred yet.
                let rest = max(0, second - scene.storage.callCount)
                for _ in 0..<rest { _ = try? await scene.storage.read(.account) }
                let state = await scene.store.checkSession(with: scene.service, timeout: nil)
                guard case .verified(let account) = state else {
                    Issue.record("calls \(first) and \(second): \(state.text)")
                    continue
                }
                #expect(try await scene.base.stateForNewProcess().account == account, "calls \(first) and \(second)")
            }
        }
    }

    @Test func `Returns the token that is still valid after a failed early refresh`() async throws {
        let count = try await callCount(of: .earlyToken)
        // The first call reads the account.
        for number in 2...count {
            for error in Fixture.failures + Fixture.unreadable {
                let scene = try await Scene(.earlyToken)
                scene.storage.inject(.fails(error), at: number)
                let token = try await scene.store.accessToken(
                    minimumValidity: .seconds(60), timeout: nil, with: scene.service)
                #expect(try await scene.service.verify(#require(scene.before).with(token)).id == scene.before?.id)
            }
        }
    }

    @Test func `Keeps the record of a lost refresh when saving earlier tokens`() async throws {
        let scene = try await Scene(.checkExpired)
        for number in 2...3 {
            scene.storage.inject(.fails(FaultyArchiveStorage.diskFull), at: number, of: .replace)
        }
        #expect(
            await scene.store.checkSession(with: scene.service, timeout: nil).text == "unverified access-2: notSaved")
        let lost = ScriptedAuthority(refresh: [.refuse(.noResponse(.truncated))], clock: scene.clock)
        await expectAccountError(.serviceUnavailable) { try await scene.store.refresh(with: lost) }
        try await scene.store.update { $0.profile.points = 7 }
        #expect(try await scene.base.stateForNewProcess().account?.credentials.accessToken == Secret("access-2"))
        #expect(try await scene.store.unfinishedRefresh() != nil, "the refresh token of access-2 may be spent")
    }
}

extension Result where Success == Void, Failure == any Error {
    fileprivate init(_ body: () async throws -> Void) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}

extension Account {
    fileprivate func with(_ token: Secret) -> Account {
        var account = self
        account.credentials.accessToken = token
        return account
    }
}
