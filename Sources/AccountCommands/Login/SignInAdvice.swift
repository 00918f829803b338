import AccountKit

/// The option of `login` that helps against an error that the authorization server reports at a sign-in or a refresh.
struct SignInAdvice: Equatable {
    /// The option, with a name in capital letters for a value that only the user knows.
    let options: String

    /// What the option does.
    let effect: String

    /// Whether the option also helps if the service refuses to renew the session. Against other errors, each new sign-in helps.
    var appliesToRenewal = false

    /// The hint of an error.
    var hint: String { "add \(options), which \(effect)" }

    private init(_ options: String, _ effect: String, appliesToRenewal: Bool = false) {
        self.options = options
        self.effect = effect
        self.appliesToRenewal = appliesToRenewal
    }

    /// Returns `nil` if no option helps, or if the error needs other advice.
    ///
    /// Some services report each error in a request as `invalid_request`, and only the description names its cause.
    ///
    /// - Parameter way: How the user tried to sign in.
    init?(_ code: String, description: String? = nil, way: SignInWay? = nil) {
        switch code {
        case "invalid_scope": self = .scopes
        case "invalid_target": self = .noResource
        case "invalid_redirect_uri", "redirect_uri_mismatch": self = .redirect
        case "invalid_client_metadata", "invalid_software_statement", "unapproved_software_statement":
            self.init("--client-id ID", "names a client that you registered at the service yourself")
        case "unauthorized_client", "unsupported_grant_type", "unsupported_response_type", "device_flow_disabled":
            let others = [(SignInWay.device, "--device"), (.browser, "--web")].filter { $0.0 != way }.map(\.1)
            self.init(
                others.joined(separator: ", ") + " or --client-id ID",
                "chooses another way to sign in, or a client that the service allows to sign in this way")
        case "invalid_request_uri", "request_not_supported", "request_uri_not_supported": self = .device
        case "consent_required": self = .prompt("consent")
        case "interaction_required", "login_required": self = .prompt("login")
        case "account_selection_required": self = .prompt("select_account")
        case "invalid_request", "access_denied":
            guard let advice = Self.advice(for: description?.lowercased() ?? "") else { return nil }
            self = advice
        default: return nil
        }
    }

    /// Returns the advice for a session that the service no longer renews.
    ///
    /// - Parameter text: A text that contains the error code of the service, and its description.
    init?(mentionedIn text: String) {
        let words = text.split { !($0.isASCII && ($0.isLetter || $0 == "_")) }.map(String.init)
        let codes = ["invalid_scope", "invalid_target", "invalid_request"]
        guard let code = codes.first(where: { words.contains($0) }),
            let advice = SignInAdvice(code, description: text), advice.appliesToRenewal
        else { return nil }
        self = advice
    }

    private static func advice(for text: String) -> SignInAdvice? {
        // The roles of RFC 6749, section 1.1, are not about the parameter `resource`.
        let description = text.replacing("resource owner", with: "").replacing("resource server", with: "")
        if description.contains("pushed") || description.contains("request_uri") { return .device }
        if description.contains("redirect") { return .redirect }
        if description.contains("resource") { return .noResource }
        return description.contains("scope") ? .scopes : nil
    }

    private static let scopes = SignInAdvice(
        "--no-default-scopes --scope NAME", "requests only scopes that the service has", appliesToRenewal: true)

    private static let noResource = SignInAdvice(
        "--no-resource", "leaves out the parameter resource (RFC 8707)", appliesToRenewal: true)

    private static let redirect = SignInAdvice(
        "--redirect-uri URI",
        "names an address that is registered for the client, such as http://127.0.0.1:8400/callback")

    private static let device = SignInAdvice("--device", "signs in without an authorization request")

    private static func prompt(_ value: String) -> SignInAdvice {
        SignInAdvice("--web --parameter prompt=\(value)", "lets the service ask you in the browser")
    }
}
