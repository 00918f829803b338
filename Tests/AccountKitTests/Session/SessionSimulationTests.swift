import AccountKit
import AccountTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Lives of a session, at random and the same for each seed: several processes, a storage that fails, a service in
/// trouble, and a clock that jumps.
struct SessionSimulationTests {
    private static let troubles: [AuthoritySignal] = Fixture.signals.filter {
        $0 != .oauthError(.invalidGrant) && $0 != .bearerChallenge(error: "invalid_token") && $0 != .rejected("closed")
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `Nobody is signed out but by the user or by a definite word, and no change is lost`(seed: UInt64) async throws
    {
        var random = SeededGenerator(seed: seed)
        let base = InMemoryArchiveStorage()
        let storage = FaultyArchiveStorage(base)
        let clock = ManualClock()
        let service = ModelService(clock: clock, isStrict: false)
        var processes: [AccountStore] = []
        for _ in 0..<3 {
            processes.append(try await AccountStore.testing(signedIn: nil, clock: clock, storage: storage))
        }

        // What must be so, going by what the store said that it did.
        var user: String?
        var points: Int64?
        var mayBeEnded = false
        var last: (lineage: [UInt8], generation: UInt64)?

        for step in 0..<100 {
            let process = Int.random(in: 0..<processes.count, using: &random)
            let store = processes[process]
            if Int.random(in: 0..<3, using: &random) == 0 {
                let error = Fixture.failures.randomElement(using: &random)!
                storage.inject(.fails(error), at: Int.random(in: 1...12, using: &random))
            }
            service.trouble =
                Int.random(in: 0..<4, using: &random) == 0 ? Self.troubles.randomElement(using: &random) : nil
            switch Int.random(in: 0..<100, using: &random) {
            case ..<10:
                let name = ["alice", "bob"].randomElement(using: &random)!
                let isDone = await succeeds {
                    try await store.signIn(username: name, password: Secret("password"), with: service)
                }
                if isDone { (user, points, mayBeEnded) = (name, nil, false) }
            case ..<30:
                let isDone = await succeeds {
                    try await store.update { $0.profile.points = ($0.profile.points ?? 0) + 1 }
                }
                if isDone { points = (points ?? 0) + 1 }
            case ..<40:
                let isDone = await succeeds {
                    try await store.updateProfile(with: service) { $0.points = ($0.points ?? 0) + 1 }
                }
                if isDone { points = (points ?? 0) + 1 }
            case ..<60: _ = await store.checkSession(with: service)
            case ..<70: _ = await succeeds { try await store.refresh(with: service) }
            case ..<85: _ = await succeeds { _ = try await store.accessToken(with: service) }
            case ..<87:
                let isDone = await succeeds { try await store.signOut(with: service) }
                if isDone { (user, points) = (nil, nil) }
            case ..<89:
                service.endSessions()
                mayBeEnded = true
            case ..<94: clock.advance(by: .random(in: -1e6...1e6, using: &random))
            case ..<96: clock.advance(by: .random(in: -1e9...1e9, using: &random))
            default: processes[process] = try await AccountStore.testing(signedIn: nil, clock: clock, storage: storage)
            }

            let state = try await base.stateForNewProcess()
            let context: Comment = "seed \(seed), step \(step): \(state.text)"
            switch state {
            case .unverified(let account, _):
                #expect(account.username == user, context)
                #expect(account.profile.points == points, context)
            case .signedOut:
                #expect(user == nil || mayBeEnded, context)
                (user, points) = (nil, nil)
            case .unreadable, .verified: Issue.record(context)
            }
            let generation = try base.storedGeneration
            if let last, let generation, last.lineage == generation.lineage {
                #expect(generation.generation >= last.generation, context)
            }
            last = generation
        }
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `One process keeps its session at a service that takes each refresh token once`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let storage = FaultyArchiveStorage()
        let clock = ManualClock()
        let service = ModelService(clock: clock, isStrict: true)
        let store = try await AccountStore.testing(
            signedIn: service.account(of: "alice"), clock: clock, storage: storage)
        for step in 0..<100 {
            if Bool.random(using: &random) {
                storage.inject(.fails(FaultyArchiveStorage.diskFull), at: .random(in: 1...12, using: &random))
            }
            // Only what says that the token was not spent: a reply that is lost takes its token with it.
            let troubles: [AuthoritySignal?] = [
                nil, nil, .noReply(.refused), .unavailable(status: 503, retryAfter: nil),
            ]
            service.trouble = troubles.randomElement(using: &random)!
            switch Int.random(in: 0..<4, using: &random) {
            case 0: _ = await store.checkSession(with: service)
            case 1: _ = await succeeds { try await store.refresh(with: service) }
            case 2: _ = await succeeds { try await store.update { $0.profile.points = Int64(step) } }
            default: clock.advance(by: .random(in: -10_000...10_000, using: &random))
            }
            service.trouble = nil
            #expect(store.account?.username == "alice", "seed \(seed), step \(step)")
        }
        // Faults that have not struck yet do so now.
        for _ in 0..<12 { _ = try? await storage.read(.account) }
        guard case .verified = await store.checkSession(with: service) else {
            Issue.record("seed \(seed): the session was lost")
            return
        }
    }

    private func succeeds(_ body: () async throws -> Void) async -> Bool {
        do {
            try await body()
            return true
        } catch {
            return false
        }
    }
}
