import AccountKit

extension CommandContext {
    /// Adds what can be done about a shared archive that does not open here, if the error says that it does not.
    func adding(_ advice: String, to error: any Error, about store: AccountStore) async -> any Error {
        guard var unreadable = error as? AccountError, unreadable.isAboutContent else { return error }
        do {
            guard try await store.hasSharedArchive() else { return error }
        } catch {
            // The error that is about to be reported says more than this one.
            return unreadable
        }
        unreadable.message +=
            ". If that key is lost, \(advice), and the tokens in the archive stay valid at the service"
        return unreadable
    }
}
