/// The secret of an OAuth client, if it was recorded (RFC 6749, section 2.3.1).
package enum ClientSecret: Sendable, Equatable {
    /// It was not recorded: an earlier version wrote the archive, or the authority is not an OAuth authority.
    case unknown

    case none

    /// The secret of the client at this service. It is sent to no other service.
    case secret(Secret)
}
