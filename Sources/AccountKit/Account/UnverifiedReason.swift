/// The reason why the service has not confirmed an account. AccountKit keeps the account.
public struct UnverifiedReason: Hashable, Sendable {
    /// The kind of reason.
    public package(set) var code: Code

    /// Details for the user, without secrets.
    public package(set) var detail: String?

    /// The pause that the service requested.
    public package(set) var retryAfter: Duration?

    /// Whether the service refused to renew the session, and another attempt will probably not change this. The account is
    /// kept. See ``SessionDecision/refusesRenewal(_:)``.
    package var refusesRenewal = false

    package init(_ code: Code, detail: String? = nil, retryAfter: Duration? = nil) {
        self.code = code
        self.detail = detail
        self.retryAfter = retryAfter
    }

    /// A kind of reason. The raw values are stable. Later versions may add codes, so a `switch` needs a `default`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code in JSON output.
        public let rawValue: String

        package init(rawValue: String) { self.rawValue = rawValue }

        /// The code in JSON output.
        public var description: String { rawValue }

        /// AccountKit did not ask the service.
        public static let notChecked = Code(rawValue: "notChecked")

        /// The service is unreachable, or did not respond in time.
        public static let offline = Code(rawValue: "offline")

        /// The service has not yet responded to a request for new tokens, which AccountKit stores when they arrive.
        public static let awaitingResponse = Code(rawValue: "awaitingResponse")

        /// The check was cancelled.
        public static let cancelled = Code(rawValue: "cancelled")

        /// The service returned a server error (408, 425, 5xx).
        public static let serverError = Code(rawValue: "serverError")

        /// The rate limit of the service is reached (429).
        public static let rateLimited = Code(rawValue: "rateLimited")

        /// The response was unexpected.
        public static let unclearReply = Code(rawValue: "unclearReply")

        /// Another server responded instead of the service.
        public static let captivePortal = Code(rawValue: "captivePortal")

        /// The certificate or the TLS connection of the service is not trusted.
        public static let untrustedTLS = Code(rawValue: "untrustedTLS")

        /// A proxy requires authentication (407).
        public static let proxyAuthenticationRequired = Code(rawValue: "proxyAuthenticationRequired")

        /// The service, or the app's registration there, is not set up for the request.
        public static let misconfigured = Code(rawValue: "misconfigured")

        /// The service refuses to renew the session, and the access token has expired or is refused. The account is kept,
        /// but only another sign-in brings a token.
        public static let renewalRefused = Code(rawValue: "renewalRefused")

        /// The tokens do not allow the request (`insufficient_scope`; RFC 6750, section 3.1).
        public static let insufficientScope = Code(rawValue: "insufficientScope")

        /// The service reports that the token belongs to another user.
        public static let wrongAccount = Code(rawValue: "wrongAccount")

        /// Another process replaced the tokens, and AccountKit adopted the new tokens.
        public static let replacedMeanwhile = Code(rawValue: "replacedMeanwhile")

        /// Another process is using the archive, or this process was stopped for so long that it lost the lock or the
        /// lease.
        public static let busy = Code(rawValue: "busy")

        /// AccountKit could not store new tokens, so it did not request any.
        public static let cannotSave = Code(rawValue: "cannotSave")

        /// The store that several machines share is unreachable, so AccountKit requested no new tokens.
        public static let storeUnreachable = Code(rawValue: "storeUnreachable")

        /// AccountKit received new tokens but could not store them. These tokens are only in the memory of this
        /// process.
        public static let notSaved = Code(rawValue: "notSaved")
    }
}

extension UnverifiedReason: CustomStringConvertible {
    /// The reason in words, such as "server error: 503".
    public var description: String { detail.map { "\(label): \($0)" } ?? label }

    private var label: String {
        switch code {
        case .notChecked: "not checked"
        case .awaitingResponse: "no response yet"
        case .serverError: "server error"
        case .rateLimited: "too many requests"
        case .unclearReply: "unexpected response"
        case .captivePortal: "another server responded"
        case .untrustedTLS: "the connection is not secure"
        case .proxyAuthenticationRequired: "a proxy requires a user name and password"
        case .misconfigured: "not set up at the service"
        case .renewalRefused: "the service no longer renews this session"
        case .insufficientScope: "missing permission"
        case .wrongAccount: "the token belongs to another user"
        case .replacedMeanwhile: "replaced by another process"
        case .cannotSave: "cannot save"
        case .storeUnreachable: "the store cannot be reached"
        case .notSaved: "not saved"
        // `offline`, `cancelled`, `busy`, and codes of an app.
        default: code.rawValue
        }
    }
}
