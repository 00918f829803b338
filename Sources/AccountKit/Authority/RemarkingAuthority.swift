/// An authority that may have something to say to whoever has just signed in.
package protocol RemarkingAuthority: AccountAuthority {
    /// What of the user's settings the service had no use for, in words. Nothing is sent to find out.
    func signInRemarks() async -> [String]
}
