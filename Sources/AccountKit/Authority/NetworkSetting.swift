/// A setting of the machine on the way to a service, for someone who wonders why it cannot be reached.
package struct NetworkSetting: Sendable, Hashable {
    /// Where it is set, such as `HTTPS_PROXY`.
    package var variable: String

    /// Without a password.
    package var value: String

    /// What the value does, in a few words.
    package var effect: String
    package var problem: String?

    package init(variable: String, value: String, effect: String, problem: String? = nil) {
        self.variable = variable
        self.value = value
        self.effect = effect
        self.problem = problem
    }
}

/// An authority that can tell what of the machine's settings there is on the way to its service, such as a proxy.
package protocol NetworkSettingsAuthority: AccountAuthority {
    /// Nothing is sent to find out.
    var networkSettings: [NetworkSetting] { get }
}
