/// An authority that can tell what time it is at the service: for someone who wonders why tokens expire at once.
package protocol ClockAuthority: AccountAuthority {
    /// How much the service's clock is ahead of this machine's, to about a second; `nil` if it does not tell.
    func clockOffset() async throws -> Duration?
}
