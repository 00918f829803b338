import AccountKit
import AccountTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct ManualClockTests {
    @Test func `The clock stands still until it is moved, either way`() {
        let clock = ManualClock(Date(timeIntervalSince1970: 1000))
        #expect(clock.now == Date(timeIntervalSince1970: 1000))
        clock.advance(by: 60)
        #expect(clock.now == Date(timeIntervalSince1970: 1060))
        clock.advance(by: -100)
        #expect(clock.now == Date(timeIntervalSince1970: 960))
        clock.now = .distantFuture
        #expect(clock.now == .distantFuture)
    }

    // What an app's own test of an expired token looks like.
    @Test func `An expired token is refreshed silently`() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.testing(signedIn: .expired(at: clock.now), clock: clock)
        let authority = ScriptedAuthority(clock: clock)
        #expect(try await store.accessToken(with: authority) == Secret("access-2"))
        #expect(authority.requests == [.refresh])
    }
}
