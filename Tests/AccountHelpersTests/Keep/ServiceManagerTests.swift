import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import AccountCommands
@testable import AccountHelpers

@Suite struct ServiceManagerTests {
    @Test func `Computes the watchdog interval as half of WATCHDOG_USEC`() {
        func interval(_ variables: [String: String]) -> TimeInterval? {
            ServiceManager(environment: { variables[$0] }, process: 42).watchdogInterval
        }
        #expect(interval([:]) == nil)
        #expect(interval(["WATCHDOG_USEC": "30000000"]) == 15)
        #expect(interval(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "42"]) == 15)
        #expect(interval(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "43"]) == nil)
        #expect(interval(["WATCHDOG_USEC": "x"]) == nil)
    }
}
