import AccountKit
import AccountTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct SimultaneousRefreshTests {
    @Test func `Sends one refresh for a thousand tasks`() async throws {
        let clock = ManualClock()
        // With this timeout, acquiring a held lock fails: only tasks that join the refresh succeed.
        let store = AccountStore(
            storage: InMemoryArchiveStorage(), appIdentifier: "testing", keySources: [InMemoryKey()], clock: clock,
            lockTimeout: .zero)
        try await store.signIn { .expired(at: clock.now) }
        let authority = ScriptedAuthority(refresh: [.hang], clock: clock)
        let tokens = try await withThrowingTaskGroup(of: Secret.self) { group in
            for _ in 0..<1000 { group.addTask { try await store.accessToken(timeout: nil, with: authority) } }
            await authority.waitForRequest(.refresh)
            authority.release()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(tokens == Array(repeating: Secret("access-2"), count: 1000))
        #expect(authority.requests == [.refresh])
    }

    @Test func `Sends one refresh for several processes`() async throws {
        let clock = ManualClock()
        let storage = InMemoryArchiveStorage()
        _ = try await AccountStore.testing(signedIn: .expired(at: clock.now), clock: clock, storage: storage)
        let authority = ScriptedAuthority(refresh: [.hang], clock: clock)
        let tokens = try await withThrowingTaskGroup(of: Secret.self) { group in
            for _ in 0..<20 {
                let store = try await AccountStore.testing(signedIn: nil, clock: clock, storage: storage)
                group.addTask { try await store.accessToken(timeout: nil, with: authority) }
            }
            await authority.waitForRequest(.refresh)
            authority.release()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(tokens == Array(repeating: Secret("access-2"), count: 20))
        #expect(authority.requests == [.refresh])
    }

    @Test(arguments: [true, false])
    func `Returns the token to the other tasks when one task is cancelled`(cancelsFirst: Bool) async throws {
        let clock = ManualClock()
        let store = try await AccountStore.testing(signedIn: .expired(at: clock.now), clock: clock)
        let authority = ScriptedAuthority(refresh: [.hang], clock: clock)
        let first = Task { try await store.accessToken(timeout: nil, with: authority) }
        await authority.waitForRequest(.refresh)
        let second = Task { try await store.accessToken(timeout: nil, with: authority) }
        let (cancelled, other) = cancelsFirst ? (first, second) : (second, first)
        cancelled.cancel()
        // The cancelled task ends before the service responds.
        await expectAccountError(.cancelled) { try await cancelled.value }
        authority.release()
        #expect(try await other.value == Secret("access-2"))
        #expect(authority.requests == [.refresh])
    }

    @Test func `Sends a new request for a refresh of other tokens`() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.testing(signedIn: .expired(at: clock.now), clock: clock)
        let authority = ScriptedAuthority(clock: clock)
        _ = try await store.accessToken(timeout: nil, with: authority)
        clock.advance(by: .seconds(3600))
        _ = try await store.accessToken(timeout: nil, with: authority)
        try await store.refresh(with: authority)
        #expect(authority.requests == [.refresh, .refresh, .refresh])
        #expect(store.account?.credentials.accessToken == Secret("access-4"))
    }
}
