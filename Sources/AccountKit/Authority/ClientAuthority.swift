/// An authority that supports sign-in as a client, without a user.
package protocol ClientAuthority: AccountAuthority {
    /// Signs in, and returns an account whose id is the client ID.
    func signInAsClient() async throws -> Account
}
