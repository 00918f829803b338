import AccountKit

extension CommandContext {
    /// Adds the way out to an error of a sign-in or sign-out about an archive that cannot be opened on this machine, if the
    /// archive stays in place. Returns other errors unchanged.
    ///
    /// - Parameter advice: The command for a shared archive, and its effect.
    func adding(_ advice: String, to error: any Error, about store: AccountStore) async -> any Error {
        guard var unreadable = error as? AccountError, unreadable.isAboutContent,
            store.isShared || unreadable.code == .noKey || unreadable.cause is MissingKey
        else { return error }
        do {
            guard try await store.hasArchive() else { return error }
        } catch {
            // Report the original error, which is more specific.
            return unreadable
        }
        let command = hint(for: store.session).command("logout", "--force")
        unreadable.message +=
            ". If that key is lost, \(store.isShared ? advice : "`\(command)` moves the archive aside"), and the tokens in "
            + "the archive stay valid at the service"
        return unreadable
    }
}
