/// An authority that supports sign-in on another device (RFC 8628).
///
/// This device shows a code, and the user enters the code on another device. Until then, this device polls the service
/// for the tokens.
public protocol DeviceAuthority: AccountAuthority {
    /// Requests a code from the service, which the app shows to the user.
    func beginDeviceSignIn() async throws -> DeviceAuthorization

    /// Polls the service once, and returns the tokens if the user has entered the code. The service accepts no further
    /// poll after a response with tokens.
    ///
    /// - Throws: An ``AuthorityError``: `oauthError("authorization_pending")` while the user has not approved or denied
    ///   the sign-in, and the other errors of RFC 8628, section 3.5.
    func pollDeviceSignIn(_ authorization: DeviceAuthorization) async throws -> Credentials

    /// Requests from the service the account to which the tokens belong, as ``BrowserSignIn/account(with:)`` does.
    ///
    /// - Parameter credentials: The tokens of this sign-in, as ``pollDeviceSignIn(_:)`` returned them.
    func account(with credentials: Credentials) async throws -> Account
}

/// The service's response to the start of a sign-in on another device (RFC 8628, section 3.2).
public struct DeviceAuthorization: Sendable, Equatable {
    /// The identifier of this sign-in at the service. Do not show the identifier to the user.
    public var deviceCode: Secret

    /// The code that the user enters.
    public var userCode: String

    /// The address of the page where the user enters the code.
    public var verificationURI: String

    /// The address with the code, for a QR code; `nil` if the service returned none.
    public var verificationURIComplete: String?

    /// The time for which the code is valid after it was received.
    public var lifetime: Duration

    /// The interval between two polls; 5 s by default (RFC 8628, section 3.2). An interval below 1 s counts as 1 s.
    public var interval: Duration

    /// The data with which the authority finishes this sign-in.
    package var state: State?

    /// The data of an authority, which comparisons ignore.
    package struct State: Sendable, Equatable {
        package let value: any Sendable

        package init(_ value: any Sendable) { self.value = value }

        package static func == (left: Self, right: Self) -> Bool { true }
    }

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
