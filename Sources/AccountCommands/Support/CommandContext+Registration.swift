package import AccountKit
package import Logging

extension CommandContext {
    /// Prevents that a later sign-out on this machine removes the registration of a session that machines share.
    package func keepRegistration(of account: Account) async {
        guard let issuer = account.issuer else { return }
        do {
            try await App.clientRegistrations(logger: logger).keep(clientID: account.credentials.clientID, at: issuer)
        } catch {
            Terminal.say("note: signing out on this machine may end the shared session (\(error.userText))")
        }
    }

    /// Removes the registration of the tool that a session used, unless a session, a queued revocation or a sign-in uses
    /// it. The sessions in a shared store are not known completely, so their registrations stay.
    package func removeRegistration(of account: Account, at authority: any ServiceAuthority) async {
        guard location == nil else { return }
        do {
            try await authority.removeRegistration(of: account) { try await usesClient(of: account) }
        } catch {
            // The user is signed out. The next sign-in uses the registration again.
            logger?.debug("the registration of this tool stays", metadata: ["error": "\(error)"])
        }
    }

    /// Removes the registration that a sign-in has replaced, in the same way.
    func removeReplacedRegistration(before account: Account, at authority: any ServiceAuthority) async {
        guard location == nil, authority.hasReplacedRegistration else { return }
        // The revocation of the replaced session needs its client.
        await deliverRevocations(of: archive, isRequested: true)
        do {
            try await authority.removeReplacedRegistration { clientID in
                var earlier = account
                earlier.credentials.clientID = clientID
                return try await usesClient(of: earlier)
            }
        } catch {
            logger?.debug("an earlier registration of this tool stays", metadata: ["error": "\(error)"])
        }
    }

    private func usesClient(of account: Account) async throws -> Bool {
        for session in try [.default] + container.sessions()
        where try await archive(of: session, isInteractive: false).usesClient(of: account) {
            return true
        }
        return false
    }
}

extension AccountApplication {
    /// Returns the registrations of this app at services (RFC 7591), which all sessions share.
    ///
    /// - Throws: The errors of ``container()``.
    package static func clientRegistrations(logger: Logger? = nil) throws(AccountError) -> ClientRegistrations {
        ClientRegistrations(container: try container(), logger: logger)
    }
}
