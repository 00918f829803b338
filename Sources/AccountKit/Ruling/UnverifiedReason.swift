/// Why an account is kept without the service having confirmed it just now.
public struct UnverifiedReason: Hashable, Sendable {
    /// The kind of reason, as it stands in JSON output.
    public var code: Code

    /// More about it, for a person; without secrets.
    public var detail: String?

    /// How long the service asked to be left alone.
    public var retryAfter: Duration?

    /// Puts a reason together.
    public init(_ code: Code, detail: String? = nil, retryAfter: Duration? = nil) {
        self.code = code
        self.detail = detail
        self.retryAfter = retryAfter
    }

    /// The kind of reason. The raw values are stable.
    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// The service was not asked.
        case notChecked
        /// The service could not be reached, or did not answer in time.
        case offline
        /// The service has not answered a request for new tokens yet; they are stored once they come.
        case awaitingResponse
        /// The check was cancelled.
        case cancelled
        /// The service has trouble of its own (408, 425, 5xx).
        case serverError
        /// The service asked for fewer requests (429).
        case rateLimited
        /// The answer is not clear.
        case unclearReply
        /// Something between here and the service answered in its place.
        case captivePortal
        /// TLS or the certificate of the service could not be trusted.
        case untrustedTLS
        /// A proxy wants credentials of its own (407).
        case proxyAuthenticationRequired
        /// The service, or this app's registration with it, is not set up for what was asked.
        case misconfigured
        /// The tokens do not allow what was asked (403).
        case insufficientScope
        /// The service says that the token is another user's.
        case wrongAccount
        /// Another process replaced the tokens meanwhile; the new ones were adopted.
        case replacedMeanwhile
        /// Another process is at work on the archive.
        case busy
        /// New tokens could not have been stored, so none were asked for.
        case cannotSave
        /// New tokens came and could not be stored: they are in this process's memory only.
        case notSaved
    }
}
