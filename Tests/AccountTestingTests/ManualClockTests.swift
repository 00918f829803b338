import AccountKit
import AccountTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct ManualClockTests {
    @Test func `Changes a manual clock only when the test sets the clock`() {
        let clock = ManualClock(Date(timeIntervalSince1970: 1000))
        #expect(clock.now == Date(timeIntervalSince1970: 1000))
        clock.advance(by: .seconds(60))
        #expect(clock.now == Date(timeIntervalSince1970: 1060))
        clock.advance(by: .seconds(-100))
        #expect(clock.now == Date(timeIntervalSince1970: 960))
        clock.now = .distantFuture
        #expect(clock.now == .distantFuture)
    }
}
