/// A setting of the machine on the way to a service, for someone who wonders why it cannot be reached.
public struct NetworkSetting: Sendable, Hashable {
    /// Where it is set, such as `HTTPS_PROXY`.
    public var variable: String

    /// What it is set to, without a password.
    public var value: String

    /// What that does, in a few words.
    public var effect: String

    /// What is wrong with it; `nil` if nothing is.
    public var problem: String?

    /// Creates a setting.
    public init(variable: String, value: String, effect: String, problem: String? = nil) {
        self.variable = variable
        self.value = value
        self.effect = effect
        self.problem = problem
    }
}
