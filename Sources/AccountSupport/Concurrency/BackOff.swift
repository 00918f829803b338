/// An exponential back-off: each pause is twice as long as the previous pause, up to a limit.
package struct BackOff: Sendable {
    private let first: Double
    private let longest: Double

    /// Creates a back-off with pauses in seconds.
    package init(first: Double, longest: Double) {
        self.first = first
        self.longest = longest
    }

    /// Returns the pause in seconds. A count of 0 gives the same pause as a count of 1.
    package func pause(after failureCount: Int) -> Double {
        min(first * Double(1 << min(max(failureCount, 1) - 1, 30)), longest)
    }
}
