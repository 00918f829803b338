/// Why something could not be done with an account, and what to do about it.
///
/// Being signed out, being offline and an answer that is not understood are not errors but states; see
/// ``SessionState``. No error ever holds a token or a password. Errors are told apart by their ``code``; two of one code may
/// say different things, so there is no `==`.
public struct AccountError: Error, Sendable {
    /// What kind of error it is.
    public var code: Code

    /// What is wrong and what can be done about it, for a person.
    public var message: String

    /// What it came from, such as a system call and its errno.
    public var cause: (any Error)?

    /// Creates an error; neither the message nor the cause may hold a secret.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
}

extension AccountError {
    /// What kind of error it is. More may be added, so a `switch` needs a `default`.
    public struct Code: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
        /// The code as it stands in JSON output.
        public let rawValue: String

        /// A code of an app's own adapter.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The code as it stands in JSON output.
        public var description: String { rawValue }

        /// There is an archive, and no key to open it.
        public static let noKey = Code(rawValue: "noKey")

        /// The archive is whole in form and does not open: the key is another one, or bytes were changed.
        public static let authenticationFailed = Code(rawValue: "wrongKeyOrDamaged")

        /// The file is not an archive, or not all of one.
        public static let damaged = Code(rawValue: "damaged")

        /// The archive is of a later version, or uses an option that this version does not know.
        public static let unsupportedVersion = Code(rawValue: "unsupportedVersion")

        /// The operating system did not let the file be read or written.
        public static let inaccessible = Code(rawValue: "inaccessible")

        /// The store that several machines share cannot be reached, or has no quorum: what is stored is not known. Nobody was
        /// signed out.
        public static let storeUnreachable = Code(rawValue: "storeUnreachable")

        /// A folder or file belongs to someone else, or others can write to it.
        public static let insecureContainer = Code(rawValue: "insecureContainer")

        /// Another process has held the lock of the archive for too long.
        public static let busy = Code(rawValue: "busy")

        /// Another process has changed the archive, or another user has signed in since a request began.
        public static let conflict = Code(rawValue: "conflict")

        /// The account does not fit into an archive of 1 MiB, or a response is longer than was asked for.
        public static let tooLarge = Code(rawValue: "tooLarge")

        /// Saved and visible, but the disk did not confirm that it survives a power cut.
        public static let durabilityUnknown = Code(rawValue: "durabilityUnknown")

        /// Nobody is signed in.
        public static let notSignedIn = Code(rawValue: "notSignedIn")

        /// The session was moved to another place, and is refreshed there only.
        public static let moved = Code(rawValue: "moved")

        /// The service refused this sign-in; what was stored before is still there.
        public static let signInRefused = Code(rawValue: "signInRefused")

        /// The service was needed and could not be reached, or gave an unexpected response.
        public static let serviceUnavailable = Code(rawValue: "serviceUnavailable")

        /// An API responded with a status that is no success, such as 404.
        public static let requestFailed = Code(rawValue: "requestFailed")

        /// The service, or this app's registration with it, is not set up for what was asked.
        public static let misconfigured = Code(rawValue: "misconfigured")

        /// The user, or the program, gave up waiting; nothing was changed.
        public static let cancelled = Code(rawValue: "cancelled")

        /// A name, an address or a value is not of the form that it must have.
        public static let invalidArgument = Code(rawValue: "invalidArgument")
    }
}

extension AccountError: CustomStringConvertible {
    /// The message, and the cause in brackets.
    public var description: String {
        // Why a request failed, the message says already.
        if let cause, requestFailure == nil { "\(message) (\(cause))" } else { message }
    }
}

/// The cause of an error about a request: why there was no response, for who must know whether it may have been carried out.
package struct RequestFailure: Error {
    package let failure: AuthorityError

    package init(_ failure: AuthorityError) { self.failure = failure }
}

extension AccountError {
    package var requestFailure: AuthorityError? { (cause as? RequestFailure)?.failure }
}
