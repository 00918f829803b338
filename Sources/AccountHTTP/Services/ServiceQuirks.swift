import AccountKit
import AccountSupport

/// The deviations of a service from OAuth 2.0 and OpenID Connect.
struct ServiceQuirks: Sendable, Hashable {
    static let standard = ServiceQuirks()

    var issuerForm = Issuer.Form.exact
    var subjectClaim = "sub"

    var usernameClaims = ["preferred_username", "username"]

    /// The claims that become profile fields, with the names of the fields. If `nil`, all claims become fields with the
    /// same names.
    var profileClaims: [String: String]?

    var scopeSeparator: Character = " "

    /// The meanings of the service's errors, as far as the standards do not define them.
    var errors: [ErrorMeaning] = []

    /// Whether responses are forms if the field `Accept` does not arrive.
    var mayAnswerWithForms = false

    var errorStatuses: Set<Int> = [400, 401, 403]

    /// The host of the redirect URI. The default is an address instead of a name (RFC 8252, section 8.3).
    var redirectHost = "127.0.0.1"

    /// The method to use if the service's documents do not determine it.
    var clientAuthentication: ClientAuthentication?

    /// The documented response of the user info endpoint to an invalid token, if it is not a Bearer challenge.
    var deadTokenResponse: DeadTokenResponse?

    struct DeadTokenResponse: Sendable, Hashable {
        var status: Int
        var member: String
        var values: Set<String>
        var source: String
    }

    /// Whether the service refuses the parameter `resource` (RFC 8707). Only the scopes then name the API.
    var refusesResource = false

    /// Whether the service checks PKCE with S256, although its metadata do not list it (RFC 8414, section 2).
    var supportsPKCE = false

    /// Whether a refusal of a proof may spend the token of the request, so that a refresh needs a nonce from the start.
    var mayRefuseSpentToken = false

    /// Whether the member `sub` of a token response identifies the user.
    var namesUserInTokenResponse = false

    var authorizationParameters: [String: String] = [:]
}

/// The meaning of an error of a service, if the standards do not define it, or if the service says more in another member.
struct ErrorMeaning: Sendable, Hashable {
    enum Request: Sendable {
        case signIn
        /// Separate from ``signIn``, because an error at a refresh can end a session.
        case refresh
        case any
    }

    /// The error means that the user must act at the service. The refresh token may still be valid, so the session stays.
    static let needsUser = "interaction_required"

    let code: String
    let meaning: String
    var request = Request.any

    /// A member that the response must contain beside the error.
    var member: String?

    /// The values of the member with this meaning; empty for all values that are not among the ``exceptions``.
    var values: Set<String> = []
    var exceptions: Set<String> = []

    /// The documentation, or the public report, of this behavior.
    let source: String

    init(
        _ code: String, means meaning: String, at request: Request = .any, if member: String? = nil,
        is values: Set<String> = [], isNot exceptions: Set<String> = [], source: String
    ) {
        self.code = code
        self.meaning = meaning
        self.request = request
        self.member = member
        self.values = values
        self.exceptions = exceptions
        self.source = source
    }

    func applies(to object: JSONObject, isRefresh: Bool) -> Bool {
        guard request == .any || (request == .refresh) == isRefresh, object["error"]?.string == code else {
            return false
        }
        guard let member else { return true }
        guard let value = object[member]?.string, !value.isEmpty else { return false }
        return (values.isEmpty || values.contains(value)) && !exceptions.contains(value)
    }
}

extension KnownService {
    /// The codes of all errors in the entries. A text of AccountKit repeats no secret.
    static let errorCodes = Set(all.flatMap(\.quirks.errors).map(\.code))

    /// The errors at a refresh that keep the session. They count at every service: an issuer at a domain of its own, or behind
    /// a proxy, has no entry, and keeping a session is never wrong.
    static let keepingErrors = all.flatMap(\.quirks.errors).filter {
        $0.meaning == ErrorMeaning.needsUser && $0.request != .signIn
    }
}
