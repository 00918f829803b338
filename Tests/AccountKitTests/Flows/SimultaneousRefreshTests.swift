import AccountKit
import AccountTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Refreshes of several processes. ``SingleFlightTests`` has the tasks of one process.
struct SimultaneousRefreshTests {
    @Test func `Sends one refresh for several processes`() async throws {
        let clock = ManualClock()
        let storage = InMemoryArchiveStorage()
        _ = try await AccountStore.inMemory(signedIn: .expired(at: clock.now), clock: clock, storage: storage)
        let authority = ScriptedAuthority(refresh: [.hang], clock: clock)
        let tokens = try await withThrowingTaskGroup(of: Secret.self) { group in
            for _ in 0..<20 {
                let store = try await AccountStore.inMemory(signedIn: nil, clock: clock, storage: storage)
                group.addTask { try await store.accessToken(timeout: nil, with: authority) }
            }
            await authority.waitForRequest(.refresh)
            authority.release()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(tokens == Array(repeating: Secret("access-2"), count: 20))
        #expect(authority.requests == [.refresh])
    }

    @Test func `Sends a new request for a refresh of other tokens`() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.inMemory(signedIn: .expired(at: clock.now), clock: clock)
        let authority = ScriptedAuthority(clock: clock)
        _ = try await store.accessToken(timeout: nil, with: authority)
        clock.advance(by: .seconds(3600))
        _ = try await store.accessToken(timeout: nil, with: authority)
        try await store.refresh(with: authority)
        #expect(authority.requests == [.refresh, .refresh, .refresh])
        #expect(store.account?.credentials.accessToken == Secret("access-4"))
    }
}
