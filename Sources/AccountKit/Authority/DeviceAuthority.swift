/// An authority at which one signs in on another device: this one shows a code, the user enters it elsewhere, and this one
/// asks until that is done (RFC 8628).
public protocol DeviceAuthority: AccountAuthority {
    /// Asks the service for a code to show.
    func beginDeviceSignIn() async throws -> DeviceAuthorization

    /// Asks once whether the user has entered the code. Once tokens came, the code is spent.
    ///
    /// - Throws: An ``AuthorityError``: `oauthError(.authorizationPending)` for "not yet", and the others of RFC 8628,
    ///   section 3.5.
    func pollDeviceSignIn(_ authorization: DeviceAuthorization) async throws -> Credentials

    /// Asks whose tokens these are that a poll brought. It may be asked again.
    func account(with credentials: Credentials) async throws -> Account
}

/// What the service gave out for a sign-in on another device (RFC 8628, section 3.2).
public struct DeviceAuthorization: Sendable, Equatable {
    /// What the service knows this sign-in by. Not for showing.
    public var deviceCode: Secret

    /// What the user enters.
    public var userCode: String

    /// Where the user enters it.
    public var verificationURI: String

    /// The same with the code in it, for a QR code; `nil` if the service has none.
    public var verificationURIComplete: String?

    /// How long the code is good, from its receipt.
    public var lifetime: Duration

    /// How long to wait between two polls; 5 s if the service does not say (RFC 8628, section 3.2). Less than 1 s counts as 1 s.
    public var interval: Duration

    /// A service is never polled more often.
    package static let shortestInterval = Duration.seconds(1)

    /// Creates an authorization.
    public init(
        deviceCode: Secret, userCode: String, verificationURI: String, verificationURIComplete: String? = nil,
        lifetime: Duration, interval: Duration = .seconds(5)
    ) {
        self.deviceCode = deviceCode
        self.userCode = userCode
        self.verificationURI = verificationURI
        self.verificationURIComplete = verificationURIComplete
        self.lifetime = lifetime
        self.interval = interval
    }
}
