/// An error of an account operation, with advice.
///
/// Being signed out, being offline and an unclear response are not errors but states; see ``SessionState``. An error
/// never contains a token or password. Compare errors by their ``code``: two errors with the same code may have
/// different messages, so there is no `==`.
public struct AccountError: Error, Sendable {
    /// The kind of error.
    public var code: Code

    /// A description of the problem for the user. Unless there is a ``hint``, the message also explains what to do.
    public var message: String

    /// What the user can do about the problem, such as a command to run. A tool shows the hint on a separate line.
    public var hint: String?

    /// The underlying error, such as a failed system call with its errno.
    public var cause: (any Error)?

    /// Creates an error. Neither the message nor the cause may contain a secret.
    public init(_ code: Code, _ message: String, hint: String? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.hint = hint
        self.cause = cause
    }
}

extension AccountError {
    /// A kind of error. Later versions may add codes, so a `switch` needs a `default`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code in JSON output.
        public let rawValue: String

        package init(rawValue: String) { self.rawValue = rawValue }

        /// The code in JSON output.
        public var description: String { rawValue }

        /// There is an archive, but no key to open it.
        public static let noKey = Code(rawValue: "noKey")

        /// The archive is well-formed, but cannot be opened: the key is wrong, or bytes were changed.
        public static let wrongKeyOrDamaged = Code(rawValue: "wrongKeyOrDamaged")

        /// A file is not in the expected format, or is incomplete; or a profile field does not fit the type of the app.
        public static let damaged = Code(rawValue: "damaged")

        /// A later version wrote the archive, or the archive uses an option that this version does not support.
        public static let unsupportedVersion = Code(rawValue: "unsupportedVersion")

        /// The operating system refused to read or write the file.
        public static let inaccessible = Code(rawValue: "inaccessible")

        /// The store that several machines share is unreachable or has no quorum, so its content is unknown. The user
        /// was not signed out.
        public static let storeUnreachable = Code(rawValue: "storeUnreachable")

        /// A folder or file belongs to another user, or other users can write to it.
        public static let insecureContainer = Code(rawValue: "insecureContainer")

        /// Another process has held the lock of the archive for too long, or the system allows no further threads.
        public static let busy = Code(rawValue: "busy")

        /// Another process has changed the archive, or another user has signed in since a request began.
        public static let conflict = Code(rawValue: "conflict")

        /// The account does not fit into an archive of 1 MiB, or a document, blob or response exceeds its limit.
        public static let tooLarge = Code(rawValue: "tooLarge")

        /// The change is saved and visible, but the disk did not confirm that the change survives a power cut.
        public static let durabilityUnknown = Code(rawValue: "durabilityUnknown")

        /// No user is signed in.
        public static let notSignedIn = Code(rawValue: "notSignedIn")

        /// The service refuses to renew the session, and the access token has expired or is refused. The account is kept,
        /// but only another sign-in brings a token.
        public static let renewalRefused = Code(rawValue: "renewalRefused")

        /// The service refused this sign-in. The stored account is unchanged.
        public static let signInRefused = Code(rawValue: "signInRefused")

        /// There is no usable response now, and another attempt may succeed: the service is unreachable or overloaded, has
        /// failed, or another server responded in its place.
        public static let serviceUnavailable = Code(rawValue: "serviceUnavailable")

        /// The service refused the request, such as with 404, or sent a response that the app cannot use. The same request
        /// would bring the same response, so another attempt does not help.
        public static let requestRefused = Code(rawValue: "requestRefused")

        /// An API requires scopes that the token does not have. ``AccountError/accessRequirement`` names them.
        public static let insufficientScope = Code(rawValue: "insufficientScope")

        /// An API requires a more recent or a stronger sign-in (RFC 9470). ``AccountError/accessRequirement`` describes
        /// it.
        public static let stepUpRequired = Code(rawValue: "stepUpRequired")

        /// The service, or the app's registration there, is not set up for the request.
        public static let misconfigured = Code(rawValue: "misconfigured")

        /// The user or the program cancelled the operation. Nothing has changed.
        public static let cancelled = Code(rawValue: "cancelled")

        /// A name, address or value is malformed.
        public static let invalidArgument = Code(rawValue: "invalidArgument")
    }
}

extension AccountError {
    /// Converts an error. `cancelled` and `failure` are the messages for a cancellation and for an error of another
    /// type.
    package init(
        wrapping error: any Error,
        cancelled: String = "cancelled while waiting for the archive: nothing was changed",
        failure: String = "the storage failed"
    ) {
        switch error {
        case let error as AccountError: self = error
        case is CancellationError: self.init(.cancelled, cancelled)
        default: self.init(.inaccessible, failure, cause: error)
        }
    }

    /// Returns the result of `body`, or throws its error as an `AccountError`.
    static func wrappingErrors<Value>(_ body: () async throws -> Value) async throws(AccountError) -> Value {
        do {
            return try await body()
        } catch {
            throw AccountError(wrapping: error)
        }
    }
}

extension UnverifiedReason.Code {
    init(savingFailure error: any Error) {
        self =
            switch (error as? AccountError)?.code {
            // Another process acquired the lock or the lease, or changed the entry.
            case .busy, .conflict: .busy
            case .storeUnreachable: .storeUnreachable
            default: .cannotSave
            }
    }
}
