/// An exponential back-off: each pause is twice the one before, up to a limit.
package struct BackOff: Sendable {
    private let first: Double
    private let longest: Double

    /// Creates a back-off with pauses in seconds.
    package init(first: Double, longest: Double) {
        self.first = first
        self.longest = longest
    }

    /// The pause in seconds. No failure counts as one.
    package func pause(after failureCount: Int) -> Double {
        min(first * Double(1 << min(max(failureCount, 1) - 1, 30)), longest)
    }
}
