/// The policy of the start-up check.
public struct CheckPolicy: Sendable, Hashable {
    /// How long an earlier confirmation is valid, so that the service is not asked; with zero it is always asked.
    public var maximumAge: Duration

    /// Creates a policy.
    ///
    /// - Parameter maximumAge: How long an earlier confirmation is valid.
    public init(maximumAge: Duration = .zero) {
        self.maximumAge = maximumAge
    }

    /// Ask the service each time.
    public static let always = CheckPolicy()
}
