/// An authority that knows the page for signing out of the service (OpenID Connect RP-Initiated Logout 1.0).
package protocol EndSessionAuthority: AccountAuthority {
    /// The page, or `nil` if the service names none or cannot be reached.
    func endSessionURL() async -> String?
}
