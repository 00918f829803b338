/// An authority that can obtain the address of the page where the user signs out of the service (OpenID Connect
/// RP-Initiated Logout 1.0).
package protocol EndSessionAuthority: AccountAuthority {
    /// Returns the address of the page; `nil` if the service has no such page or cannot be reached.
    func endSessionURL() async -> String?
}
