import AccountKit

extension CommandContext {
    /// Adds advice to an error about a shared archive that cannot be opened on this machine. Returns other errors
    /// unchanged.
    func adding(_ advice: String, to error: any Error, about store: AccountStore) async -> any Error {
        guard var unreadable = error as? AccountError, unreadable.isAboutContent else { return error }
        do {
            guard try await store.hasSharedArchive() else { return error }
        } catch {
            // Report the original error, which is more specific.
            return unreadable
        }
        unreadable.message +=
            ". If that key is lost, \(advice), and the tokens in the archive stay valid at the service"
        return unreadable
    }
}
