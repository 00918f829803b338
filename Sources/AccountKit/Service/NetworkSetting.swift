/// A network setting of the machine, to explain why a service cannot be reached.
package struct NetworkSetting: Sendable, Hashable {
    package var variable: String

    /// The value, without a password.
    package var value: String

    package var effect: String
    package var problem: String?

    package init(variable: String, value: String, effect: String, problem: String? = nil) {
        self.variable = variable
        self.value = value
        self.effect = effect
        self.problem = problem
    }
}
