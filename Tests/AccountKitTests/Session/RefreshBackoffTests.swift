import AccountTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import AccountKit

struct RefreshBackoffTests {
    private let now = ManualClock().now
    private let credentials = Account.fresh(at: ManualClock().now).credentials

    @Test func `The wait doubles from two seconds to five minutes, and never ends for good`() {
        var backoff = RefreshBackoff()
        var waits: [Double?] = []
        for _ in 0..<100 {
            backoff.fail(for: credentials, .init(.offline), at: now, jitter: 1)
            waits.append(backoff.wait(for: credentials, at: now))
        }
        #expect(waits.prefix(9) == [2, 4, 8, 16, 32, 64, 128, 256, 300])
        #expect(waits.last == 300)
        #expect(backoff.wait(for: credentials, at: now.addingTimeInterval(300)) == nil)
    }

    @Test func `Processes that failed together come back apart`() {
        var backoff = RefreshBackoff()
        backoff.fail(for: credentials, .init(.offline), at: now, jitter: 0.5)
        #expect(backoff.wait(for: credentials, at: now) == 1)
    }

    @Test func `A service that says how long it wants to be left alone is left alone, within bounds`() {
        var backoff = RefreshBackoff()
        backoff.fail(for: credentials, .init(.rateLimited, retryAfter: .seconds(30)), at: now, jitter: 1)
        #expect(backoff.wait(for: credentials, at: now) == 30)
        backoff.fail(for: credentials, .init(.rateLimited, retryAfter: .seconds(86400)), at: now, jitter: 1)
        #expect(backoff.wait(for: credentials, at: now) == 300)
    }

    @Test func `New tokens, a success and a clock that was set back end the wait`() {
        var backoff = RefreshBackoff()
        backoff.fail(for: credentials, .init(.offline), at: now, jitter: 1)
        var others = credentials
        others.accessToken = Secret("another")
        #expect(backoff.wait(for: others, at: now) == nil)
        #expect(backoff.wait(for: credentials, at: now.addingTimeInterval(-3600)) == nil)
        backoff.succeed()
        #expect(backoff.wait(for: credentials, at: now) == nil)
    }

    @Test func `A service that has just failed is not asked again at once`() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.testing(signedIn: .testing(at: clock.now, expiringIn: 30), clock: clock)
        let authority = ScriptedAuthority(refresh: [.refuse(.noReply(.timeout)), .accept], clock: clock)
        for _ in 0..<3 {
            #expect(try await store.accessToken(minimumValidity: 60, with: authority) == Secret("access-1"))
        }
        #expect(authority.requests == [.refresh])
        clock.advance(by: 2)
        #expect(try await store.accessToken(minimumValidity: 60, with: authority) == Secret("access-2"))
    }
}
