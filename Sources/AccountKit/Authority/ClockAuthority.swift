/// An authority that can obtain the time of its service, to explain why tokens expire immediately.
package protocol ClockAuthority: AccountAuthority {
    /// Returns how far the service's clock is ahead of this machine's clock, to within about a second; `nil` if the
    /// difference is unknown.
    func clockOffset() async throws -> Duration?
}
