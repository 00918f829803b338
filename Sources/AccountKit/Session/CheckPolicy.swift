/// The policy of the start-up check.
public struct CheckPolicy: Sendable, Hashable {
    /// How long an earlier confirmation is valid. With zero, AccountKit always asks the service.
    public var maximumAge: Duration

    /// Creates a policy.
    ///
    /// - Parameter maximumAge: How long an earlier confirmation is valid.
    public init(maximumAge: Duration = .zero) {
        self.maximumAge = maximumAge
    }

    /// Asks the service each time.
    public static let always = CheckPolicy()
}
