package import AccountKit
import Logging

extension CommandContext {
    /// Sends the pending revocations of all sessions to `issuer`, or to all services if `issuer` is `nil`. If the user
    /// requested this, AccountKit searches the folders of all sessions, ignores pauses, and may ask for a passphrase.
    /// Otherwise, AccountKit considers only the sessions in the index, and skips the remaining sessions after one second.
    /// AccountKit opens only the current session, and sessions whose folder contains a queue.
    ///
    /// - Parameter accounts: Accounts whose tokens this command has just tried to revoke.
    package func deliverRevocations(
        to issuer: String? = nil, besides accounts: [Account] = [], isRequested: Bool = false
    ) async {
        let sessions = sessionsWithRevocations(inIndex: !isRequested)
        let start = ContinuousClock.now
        for session in sessions {
            guard isRequested || start.duration(to: .now) < .seconds(1) else { return }
            guard session == self.session || container.revocationIndex.mayHaveEntries(session) else { continue }
            do {
                let store = session == self.session ? archive : try archive(of: session, isInteractive: isRequested)
                await deliverRevocations(to: issuer, of: store, besides: accounts, isRequested: isRequested)
            } catch {
                // `doctor` reports the problem with that session.
                logger?.debug("revocations of session \(session) were not sent", metadata: ["error": "\(error)"])
            }
        }
    }

    /// Returns the sessions, with the current session first. In a shared store, returns only the current session,
    /// because the machines that use the other sessions send their revocations.
    private func sessionsWithRevocations(inIndex: Bool) -> [SessionName] {
        var result = [session]
        guard location == nil else { return result }
        do {
            // The default session is listed only while a user is signed in.
            var known: Set = [session]
            let others =
                try inIndex ? container.revocationIndex.sessions() : [.default] + container.sessions()
            result += others.filter { known.insert($0).inserted }
        } catch {
            logger?.debug("the sessions cannot be listed", metadata: ["error": "\(error)"])
        }
        return result
    }

    /// Sends the pending revocations of one session.
    func deliverRevocations(
        to issuer: String? = nil, of store: AccountStore, besides accounts: [Account] = [], isRequested: Bool = false
    ) async {
        let reports = await store.deliverRevocations(
            with: { account in
                guard issuer == nil || account.issuer == issuer,
                    !accounts.contains(where: { $0.credentials == account.credentials })
                else { return nil }
                // Read the settings only for pending revocations, because each check and refresh calls this function.
                let remembered = readableService(of: store.session)
                // The secret in the environment may belong to a later sign-in in this session.
                let isSameClient =
                    remembered?.issuer == account.issuer && remembered?.clientID == account.credentials.clientID
                let secret = isSameClient ? givenClientSecret(for: store.session) : nil
                var service = AccountService(
                    of: account, remembered: remembered, acceptsGivenSecret: secret != nil)
                if account.credentials.machine?.needsSecret == true, App.acceptsIssuer {
                    // Without the secret, the tokens stay in the queue until they expire.
                    guard let secret else { return nil }
                    service.clientSecret = secret
                }
                if store.isShared, App.acceptsIssuer {
                    let problem = ownClientProblem(of: account, in: store.session, isShared: true)
                    guard problem == nil else { return nil }
                    service = ownClient(of: store.session).limiting(service, of: account)
                }
                // If the service is unknown, the revocation stays in the queue until it is too old.
                return try? authority(for: service, timeout: .seconds(isRequested ? 5 : 1))
            }, ignoringPauses: isRequested, isInteractive: isRequested && Terminal.isTerminal(.input))
        // A sign-out has told the user of the first refusal itself.
        for report in reports where report.isFirstRefusal {
            let reason = report.outcome.failure.map { " (\(SessionDecision.reason(for: $0)))" } ?? ""
            Terminal.say(
                "\(report.issuer ?? "The service") refused to revoke the tokens of an earlier session\(reason). The tokens "
                    + "stay valid there until they expire, unless you end the session at the service.")
        }
    }
}
