import Foundation

/// The seeds of a randomized test: `1...count`, but up to five of them unless `make verify` runs the tests.
package func seeds(_ count: Int) -> ClosedRange<Int> {
    let verifies = ProcessInfo.processInfo.environment["ACCOUNTKIT_VERIFY"] != nil
    return 1...(verifies ? count : min(count, 5))
}
