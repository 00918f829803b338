import AccountSupport

/// The permissions or the authentication that an API requires, and that a token lacks (RFC 6750, section 3.1; RFC 9470, section 3).
///
/// The app signs the user in again for the union of the granted and the required scopes, with the parameters
/// `acr_values` and `max_age`. The old tokens stay valid until the new ones are stored. Try once for each resource and
/// requirement: the service may grant less than the API requires, and a loop would never end.
public struct AccessRequirement: Error, Sendable, Hashable {
    /// The scopes that the API requires; empty if it named none.
    public let scopes: [String]

    /// The authentication context class references that the API accepts, the preferred one first.
    public let acrValues: [String]

    /// The maximum time since the user signed in at the service; `nil` for no limit.
    public let maxAge: Duration?

    /// The address of the API's metadata (RFC 9728, section 5.1), if the response named it.
    package let resourceMetadata: String?

    package init(
        scopes: [String] = [], acrValues: [String] = [], maxAge: Duration? = nil, resourceMetadata: String? = nil
    ) {
        self.scopes = scopes
        self.acrValues = acrValues
        self.maxAge = maxAge
        self.resourceMetadata = resourceMetadata
    }

    /// Whether the user must sign in again even if the token has all scopes.
    package var needsAuthentication: Bool { !acrValues.isEmpty || maxAge != nil }

    /// The options of `login` that sign in again for the requirement. Without `--scope`, `login` asks the API for the
    /// authentication that it requires.
    package var signInOptions: String {
        let scopes = needsAuthentication ? [] : scopes
        return (["--step-up"] + scopes.map { "--scope=\($0.shellWord)" }).joined(separator: " ")
    }
}

extension AccessRequirement: CustomStringConvertible {
    /// The required scopes, authentication methods and age in words.
    public var description: String {
        var parts: [String] = []
        if !scopes.isEmpty { parts.append("the scope \(scopes.joined(separator: " "))") }
        if !acrValues.isEmpty { parts.append("an authentication of the class \(acrValues.joined(separator: " or "))") }
        if let maxAge { parts.append("a sign-in that is at most \(maxAge.text) old") }
        return parts.isEmpty ? "further permissions" : parts.joined(separator: " and ")
    }
}

extension AccountError {
    /// What the API requires, for the codes ``Code-swift.struct/insufficientScope`` and
    /// ``Code-swift.struct/stepUpRequired``; otherwise `nil`.
    public var accessRequirement: AccessRequirement? { cause as? AccessRequirement }

    /// The error of a request with the token of `session` that the API refused because of `requirement`.
    package init(_ requirement: AccessRequirement, at origin: String, in session: SessionName) {
        let option = session == .default ? "" : " --session=\(session)"
        self.init(
            requirement.needsAuthentication ? .stepUpRequired : .insufficientScope,
            "\(origin) requires \(requirement), which the token does not have; you are still signed in",
            hint: "sign in again for it (on a command line, with `login \(requirement.signInOptions)\(option)`)",
            cause: requirement)
    }
}
