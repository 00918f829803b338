/// An authority that knows the time at its service, to explain why tokens expire at once.
package protocol ClockAuthority: AccountAuthority {
    /// How far the service's clock is ahead of this machine's, to about a second; `nil` if the difference is unknown.
    func clockOffset() async throws -> Duration?
}
