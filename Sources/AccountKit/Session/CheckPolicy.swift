/// How the start-up check goes about it.
public struct CheckPolicy: Sendable, Hashable {
    /// For how long an earlier confirmation holds, in which the service is not asked; zero always asks.
    public var maximumAge: Duration

    /// Creates a policy.
    ///
    /// - Parameter maximumAge: For how long an earlier confirmation holds.
    public init(maximumAge: Duration = .zero) {
        self.maximumAge = maximumAge
    }

    /// Ask the service each time.
    public static let always = CheckPolicy()
}
