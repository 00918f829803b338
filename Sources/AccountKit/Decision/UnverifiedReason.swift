/// Why an account is kept without the service having confirmed it just now.
public struct UnverifiedReason: Hashable, Sendable {
    /// The kind of reason, as it stands in JSON output.
    public var code: Code

    /// More about it, for a person; without secrets.
    public var detail: String?

    /// How long the service asked to be left alone.
    public var retryAfter: Duration?

    /// Creates a reason.
    public init(_ code: Code, detail: String? = nil, retryAfter: Duration? = nil) {
        self.code = code
        self.detail = detail
        self.retryAfter = retryAfter
    }

    /// The kind of reason. The raw values are stable. More may be added, so a `switch` needs a `default`.
    public struct Code: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
        /// The code as it stands in JSON output.
        public let rawValue: String

        /// A code of an app's own adapter.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The code as it stands in JSON output.
        public var description: String { rawValue }

        /// The service was not asked.
        public static let notChecked = Code(rawValue: "notChecked")

        /// The service could not be reached, or did not answer in time.
        public static let offline = Code(rawValue: "offline")

        /// The service has not answered a request for new tokens yet; they are stored once they come.
        public static let awaitingResponse = Code(rawValue: "awaitingResponse")

        /// The check was cancelled.
        public static let cancelled = Code(rawValue: "cancelled")

        /// The service returned a server error (408, 425, 5xx).
        public static let serverError = Code(rawValue: "serverError")

        /// The rate limit of the service is reached (429).
        public static let rateLimited = Code(rawValue: "rateLimited")

        /// The response was unexpected.
        public static let unclearReply = Code(rawValue: "unclearReply")

        /// Something between here and the service answered in its place.
        public static let captivePortal = Code(rawValue: "captivePortal")

        /// TLS or the certificate of the service could not be trusted.
        public static let untrustedTLS = Code(rawValue: "untrustedTLS")

        /// A proxy wants credentials of its own (407).
        public static let proxyAuthenticationRequired = Code(rawValue: "proxyAuthenticationRequired")

        /// The service, or this app's registration with it, is not set up for what was asked.
        public static let misconfigured = Code(rawValue: "misconfigured")

        /// The tokens do not allow what was asked (403).
        public static let insufficientScope = Code(rawValue: "insufficientScope")

        /// The service says that the token is another user's.
        public static let wrongAccount = Code(rawValue: "wrongAccount")

        /// Another process replaced the tokens meanwhile; the new ones were adopted.
        public static let replacedMeanwhile = Code(rawValue: "replacedMeanwhile")

        /// Another process is at work on the archive.
        public static let busy = Code(rawValue: "busy")

        /// New tokens could not have been stored, so none were asked for.
        public static let cannotSave = Code(rawValue: "cannotSave")

        /// The store that several machines share cannot be reached, so nothing was asked for that would have to be stored.
        public static let storeUnreachable = Code(rawValue: "storeUnreachable")

        /// The session was moved to another place, and is refreshed there only.
        public static let moved = Code(rawValue: "moved")

        /// New tokens came and could not be stored: they are in this process's memory only.
        public static let notSaved = Code(rawValue: "notSaved")
    }
}
