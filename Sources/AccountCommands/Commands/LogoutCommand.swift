import AccountKit
import ArgumentParser

struct LogoutCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "logout", abstract: "Sign out.",
            discussion: """
                Removes the account from this machine first, so you can sign out even if the service is unreachable.

                  \(CommandLine.toolName) logout
                  \(CommandLine.toolName) logout --all
                """)
    }

    @Flag(help: "Sign out of all sessions.")
    var all = false

    @Flag(help: "Don't notify the service.")
    var local = false

    @Flag(
        help: """
            Sign out even if this loses unsent changes, or if the archive is locked or cannot be opened here. If machines \
            share the archive, this signs them all out. The tokens in the archive stay valid at the service.
            """)
    var force = false

    @OptionGroup(title: "Common options") var options: CommonOptions

    private struct Document: Encodable {
        struct Part: Encodable {
            var session: String
            var username: String?
            var revocation: String
            var quarantinedArchive: String?
        }

        var state = "signedOut"
        var sessions: [Part]
    }

    func run(in context: CommandContext<App>) async throws {
        try context.refuseEnvironmentToken(to: "sign out")
        var sessions = [context.session]
        // A sign-out creates no session.
        if all || context.session != .default {
            let known = try await context.sessions()
            sessions = all ? known : sessions.filter { known.contains($0) }
        }
        if sessions.isEmpty, !options.json { Terminal.say("No user is signed in.") }
        var parts: [Document.Part] = []
        var failure: AccountError?
        var signedOut: [Account] = []
        for session in sessions {
            do {
                let store = try context.archive(of: session)
                let data = try await data(of: store, context)
                let (report, page, registration) = try await signOut(store, context)
                if let account = report.account {
                    await data?.remove()
                    signedOut.append(account)
                }
                parts.append(
                    Document.Part(
                        session: session.rawValue, username: report.account?.username,
                        revocation: report.revocation.name, quarantinedArchive: report.quarantinedArchive))
                if !options.json {
                    let mark: StyledText.Mark? = report.account == nil ? nil : .success
                    Terminal.say(mark, StyledText(text(session, report, endingAt: page)))
                }
                // Don't try if the revocation of this session is queued, because then the service is unreachable.
                if !local, !report.revocation.isQueued {
                    await context.deliverRevocations(of: store, besides: signedOut, isRequested: true)
                }
                // The revocations needed the registration.
                if let registration {
                    await context.removeRegistration(of: registration.account, at: registration.authority)
                }
            } catch let error as AccountError where all {
                Terminal.say(.failure, "session \(session): \(error.userText)")
                failure = error
            }
        }
        if options.json { try JSONDocument.print(Document(sessions: parts)) }
        if all, !local { await context.deliverRevocations(besides: signedOut, isRequested: true) }
        if let failure { throw ExitCode(failure.exitCode) }
    }

    /// Returns the app's data of the user, after asking the user whether unsent changes may be lost.
    private func data(of store: AccountStore, _ context: CommandContext<App>) async throws -> (
        any AccountLinkedStorage
    )? {
        var data: (any AccountLinkedStorage)?
        var work: String?
        do {
            data = try await App.linkedStorage(of: store)
            work = try await data?.unsentWork()
        } catch let error as AccountError where error.code == .notSignedIn || store.account == nil {
            // Continue the sign-out even if the account is unreadable.
            data = nil
        } catch {
            work = "unreadable changes (\(error.userText))"
        }
        var advice = "send or export the changes first, or sign out with --force"
        if work == nil, try await store.hasOfflineDataOfEndedSession() {
            work = "the offline data of the user whose session the service ended"
            advice = "to keep the data, sign in with `\(context.hint.command("login"))`; to remove it, use --force"
        }
        guard let work, !force else { return data }
        let question = "Signing out would lose \(work)"
        guard Terminal.canAsk, !options.json else {
            throw AccountError(.busy, question, hint: advice)
        }
        let answer = (try? Terminal.prompt("\(question). Sign out anyway? [y/N] ")) ?? ""
        guard answer.lowercased().hasPrefix("y") else {
            throw AccountError(.cancelled, store.account == nil ? "nothing was removed" : "you are still signed in")
        }
        return data
    }

    /// - Returns: The report; if the service cannot revoke tokens, the page where the user signs out; and the account
    ///   whose registration may now be removed.
    private func signOut(
        _ store: AccountStore, _ context: CommandContext<App>
    ) async throws -> (
        report: SignOutReport, page: String?, registration: (account: Account, authority: any ServiceAuthority)?
    ) {
        var authority: (any ServiceAuthority)?
        var signedIn: Account?
        // Prompts for the passphrase of a locked archive, which the sign-out needs.
        let state = local && force ? nil : await store.load()
        if !local, let account = state?.account {
            signedIn = account
            do {
                authority = try context.authority(of: account, in: store.session, timeout: .seconds(5))
            } catch {
                // Sign out even if the service is unknown.
                Terminal.say("note: the service is not notified of this sign-out (\(error.userText))")
            }
        }
        let report: SignOutReport
        do {
            report = try await (force ? store.replacingUnreadableArchive() : store).signOut(with: authority)
        } catch {
            var error = error
            // During the sign-out, no key source can ask the user or say how to unlock the archive.
            if error.code == .noKey, case .unreadable(let reason) = state { error = reason }
            let advice =
                "`\(context.hint.command("logout", "--force"))` removes the archive; the other machines are then signed out too"
            throw force ? error : await context.adding(advice, to: error, about: store)
        }
        if report.quarantinedArchive != nil, store.isShared {
            Terminal.say(
                "Other machines that use this store are signed out too. The tokens in the archive stay valid at the service until "
                    + "they expire.")
        }
        var registration: (account: Account, authority: any ServiceAuthority)?
        if let signedIn, report.account != nil, let authority {
            registration = (signedIn, authority)
        }
        guard case .notSupported = report.revocation else { return (report, nil, registration) }
        return (report, await authority?.endSessionURL(), registration)
    }

    private func text(_ session: SessionName, _ report: SignOutReport, endingAt page: String?) -> String {
        let place = session == .default ? "" : " (session \(session))"
        if let archive = report.quarantinedArchive {
            return
                "Signed out\(place). The archive could not be opened, so it was moved to \(archive); the service was "
                + "not notified, because the tokens cannot be read."
        }
        guard let account = report.account else {
            let removed = report.removedKeptData ? " The data of the session that the service ended was removed." : ""
            return "No user was signed in\(place).\(removed)"
        }
        return "Signed out \(account.signedOutText)\(place)."
            + report.revocation.text(service: account.issuer ?? "The service", endingAt: page)
    }
}

extension RevocationOutcome {
    /// The outcome in the JSON output. These names are stable.
    var name: String {
        switch self {
        case .notNeeded: "notNeeded"
        case .done: "done"
        case .queued: "queued"
        case .refused: "refused"
        case .notSupported: "notSupported"
        case .lost: "lost"
        }
    }

    var isQueued: Bool { if case .queued = self { true } else { false } }

    /// Returns a message about the revocation; empty if the revocation succeeded or was not needed. `page` is the page
    /// on which the user signs out of the service.
    func text(service: String, endingAt page: String? = nil) -> String {
        let reason = failure.map { SessionDecision.reason(for: $0) }
        let why = reason.map { " (\($0))" } ?? ""
        let rest =
            page.map { "The tokens stay valid there until they expire. To end the session at the service, open \($0)" }
            ?? "The tokens stay valid there until they expire, unless you end the session at the service."
        return switch self {
        case .notNeeded, .done: ""
        case .queued where reason?.detail?.hasPrefix(MachineGrant.missingSecret) == true:
            " The token was not revoked, because \(reason?.detail ?? ""). It stays valid until it expires."
        case .queued:
            " \(service) has not been notified yet\(why). The next command that reaches the service revokes the tokens."
        case .refused: " \(service) refused to revoke the tokens\(why). \(rest)"
        case .notSupported: " \(service) does not support revocation. \(rest)"
        case .lost: " \(service) could not be notified\(why), and the revocation could not be saved for later. \(rest)"
        }
    }
}
