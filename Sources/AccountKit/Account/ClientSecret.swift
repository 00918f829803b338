/// The secret of an OAuth client, if it was recorded (RFC 6749, section 2.3.1).
package enum ClientSecret: Sendable, Equatable {
    /// The secret was not recorded, because an app created the account itself, or because the authority is not an OAuth
    /// authority.
    case unknown

    case none

    /// The secret of the client at this service. AccountKit does not send the secret to any other service.
    case secret(Secret)
}
