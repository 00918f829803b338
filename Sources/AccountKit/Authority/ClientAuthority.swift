/// An authority that supports sign-in as a client, without a user.
package protocol ClientAuthority: AccountAuthority {
    /// Signs in, and returns an account whose id is the client ID.
    func signInAsClient() async throws -> Account

    /// Returns why this program gets no assertion from its platform for an account; `nil` if it gets one, or uses none.
    ///
    /// - Parameters:
    ///   - account: An account of this authority.
    ///   - isQuick: If `true`, the authority starts no program and sends no request.
    func assertionProblem(for account: Account, isQuick: Bool) async -> AuthorityError?
}
