/// An authority that supports sign-in on another device (RFC 8628): this device shows a code, the user enters it on
/// another device, and this device polls for the tokens.
public protocol DeviceAuthority: AccountAuthority {
    /// Asks the service for a code to show.
    func beginDeviceSignIn() async throws -> DeviceAuthorization

    /// Asks once whether the user has entered the code. A response with tokens spends the code.
    ///
    /// - Throws: An ``AuthorityError``: `oauthError(.authorizationPending)` while the user has not decided, and the
    ///   other errors of RFC 8628, section 3.5.
    func pollDeviceSignIn(_ authorization: DeviceAuthorization) async throws -> Credentials

    /// Asks the service whose the tokens are. It can be called again.
    func account(with credentials: Credentials) async throws -> Account
}

/// The service's response to the start of a sign-in on another device (RFC 8628, section 3.2).
public struct DeviceAuthorization: Sendable, Equatable {
    /// The identifier of this sign-in at the service. It is not shown to the user.
    public var deviceCode: Secret

    /// The code that the user enters.
    public var userCode: String

    /// The address of the page where the user enters the code.
    public var verificationURI: String

    /// The address with the code, for a QR code; `nil` if the service has none.
    public var verificationURIComplete: String?

    /// How long the code is valid after its receipt.
    public var lifetime: Duration

    /// The interval between two polls; 5 s by default (RFC 8628, section 3.2). Less than 1 s counts as 1 s.
    public var interval: Duration

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
