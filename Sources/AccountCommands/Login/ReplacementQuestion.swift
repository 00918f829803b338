import AccountKit
import Synchronization

/// Asks the user before a sign-in replaces another user's account. Without a terminal, the sign-in replaces the
/// account, and no question is asked.
final class ReplacementQuestion<App: AccountApplication>: Sendable {
    private struct State {
        var replaced: Account?
        var otherSession: SessionName?
        var willAsk: @Sendable () -> Void = {}
    }

    private let context: CommandContext<App>
    /// The account whose permissions the sign-in extends.
    private let extended: Account?
    /// Whether the user has already agreed to replace the account.
    private let isAccepted: Bool
    private let state = Mutex(State())

    init(_ context: CommandContext<App>, extending extended: Account?, isAccepted: Bool) {
        self.isAccepted = isAccepted
        self.context = context
        self.extended = extended
    }

    var isAsked: Bool { Terminal.canAsk && !context.options.json }

    var replaced: Account? { state.withLock(\.replaced) }

    var otherSession: SessionName? { state.withLock(\.otherSession) }

    /// Sets a function that is called before the question is shown, to stop other output to the terminal.
    func beforeAsking(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.willAsk = body } }

    func decide(_ stored: Account, _ new: Account) async throws(AccountError) -> ReplacementDecision {
        // A service that names no user gives no reason to ask whether this is another user.
        if stored.isUnidentified, new.issuer == stored.issuer, new.isForSameAPI(as: stored) {
            return extended?.isSameUser(as: stored) == true && new.isUnidentified ? .keepID : .replace
        }
        if isAccepted { return replace(stored) }
        guard isAsked else { return replace(stored) }
        state.withLock(\.willAsk)()
        Terminal.say("\(stored.shownNameAndPlace) is signed in to session \(context.session).")
        if try Terminal.confirms("Replace this account with \(new.shownName)? [y/N] ") { return replace(stored) }
        while true {
            let name = try Terminal.ask("To keep both, enter a name for a new session (leave empty to cancel): ")
            guard !name.isEmpty else {
                throw AccountError(
                    .cancelled, "\(stored.shownName) is still signed in, and \(new.shownName) is not")
            }
            do throws(AccountError) {
                let session = try SessionName(name)
                if let store = try await emptyStore(of: session) {
                    state.withLock { $0.otherSession = session }
                    return .store(in: store.vault)
                }
            } catch {
                Terminal.say(error.userText)
            }
        }
    }

    private func replace(_ stored: Account) -> ReplacementDecision {
        state.withLock { $0.replaced = stored }
        return .replace
    }

    /// Returns the store of a session; `nil` if the session is in use.
    private func emptyStore(of session: SessionName) async throws(AccountError) -> AccountStore? {
        let store: AccountStore
        do {
            store = try context.archive(of: session)
        } catch {
            throw AccountError(wrapping: error)
        }
        switch await store.load() {
        case .verified(let account), .unverified(let account, _):
            Terminal.say("\(account.shownName) is signed in to session \(session).")
            return nil
        case .unreadable(let error): throw error
        case .signedOut: return store
        }
    }
}

extension Account {
    fileprivate func isForSameAPI(as other: Account) -> Bool {
        let (mine, others) = (credentials.resources, other.credentials.resources)
        return mine.first == others.first || mine.contains { one in others.contains { RuleSignIn.isSame(one, $0) } }
    }

    var shownNameAndPlace: String { shownName + (issuer.map { " at \($0)" } ?? "") }
}
