import AccountKit
import ArgumentParser

struct LogoutCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "logout", abstract: "Sign out.",
            discussion:
                "The account is removed here first; a service that cannot be reached does not keep you signed in.")
    }

    @Flag(help: "Do not tell the service.")
    var local = false

    @Flag(help: "Sign out of all sessions.")
    var all = false

    @Flag(
        help: """
            Sign out even if something is lost: changes that were not sent, or an archive in a shared store that does not open \
            here. The other machines are then signed out too, and the tokens in the archive stay valid at the service.
            """)
    var force = false

    @OptionGroup var options: CommonOptions

    private struct Document: Encodable {
        struct Part: Encodable {
            var session: String
            var username: String?
            var revocation: RevocationResult
            var quarantinedArchive: String?
        }

        var state = "signedOut"
        var sessions: [Part]
    }

    func run(in context: CommandContext<App>) async throws {
        try context.refuseEnvironmentToken(to: "sign out")
        let sessions = all ? try await context.sessions() : [context.session]
        if sessions.isEmpty, !options.json { Terminal.say("There are no sign-ins to end.") }
        var parts: [Document.Part] = []
        var failure: AccountError?
        let start = SystemWallClock().now
        for session in sessions {
            do {
                let store = try context.archive(of: session)
                let data = try await data(of: store, context)
                let (report, page) = try await signOut(store, context)
                if report.account != nil { await data?.remove() }
                parts.append(
                    Document.Part(
                        session: session.rawValue, username: report.account?.username,
                        revocation: RevocationResult.of(report).0, quarantinedArchive: report.quarantinedArchive))
                if !options.json { Terminal.say(text(session, report, endingAt: page)) }
                // Otherwise the service cannot be reached.
                if !local, RevocationResult.of(report).0 != .queued {
                    await context.deliverRevocations(of: store, before: start, isRequested: true)
                }
            } catch let error as AccountError where all {
                // The other sessions are signed out all the same.
                Terminal.say("session \(session): \(error)")
                failure = error
            }
        }
        if options.json { try JSONDocument.print(Document(sessions: parts)) }
        if all, !local { await context.deliverRevocations(isRequested: true) }
        if let failure { throw ExitCode(failure.exitCode) }
    }

    /// What the app keeps for the user; asked about before it goes.
    private func data(of store: AccountStore, _ context: CommandContext<App>) async throws -> (
        any AccountLinkedStorage
    )? {
        var data: (any AccountLinkedStorage)?
        var work: String?
        do {
            data = try await App.linkedStorage(of: store)
            work = try await data?.unsentWork()
        } catch let error as AccountError where error.code == .notSignedIn || store.account == nil {
            // An account that cannot be read keeps nobody signed in.
            return nil
        } catch {
            work = "changes that cannot be read (\(error))"
        }
        guard let work, !force else { return data }
        let question = "Signing out would lose \(work)"
        guard Terminal.isTerminal(.input), Terminal.isTerminal(.error), !options.json else {
            throw AccountError(.busy, "\(question). Send or export that first, or sign out with --force")
        }
        // No answer is a no.
        let answer = (try? Terminal.prompt("\(question). Sign out all the same? [y/N] ")) ?? ""
        guard answer.lowercased().hasPrefix("y") else {
            throw AccountError(.cancelled, "nobody was signed out")
        }
        return data
    }

    /// - Returns: The report, and, if the service cannot revoke tokens, the page at which the user signs out there.
    private func signOut(
        _ store: AccountStore, _ context: CommandContext<App>
    ) async throws -> (report: SignOutReport, page: String?) {
        var authority: (any AccountAuthority)?
        if !local, let account = await store.load().account {
            if let move = account.move, !move.isComplete {
                throw AccountError(
                    .moved,
                    StateText.text(move, context.hint(for: store.session))
                        + " With --local it is forgotten here all the same.")
            }
            do {
                authority = try context.authority(of: account, in: store.session, timeout: .seconds(5))
            } catch {
                // An unknown service is no reason to stay signed in.
                Terminal.say("note: no service is told of this sign-out (\(error))")
            }
        }
        // It is discarded whether it can be read or not.
        let incoming = store.account == nil ? try? await store.incomingMove() : nil
        let report: SignOutReport
        do {
            report = try await (force ? store.replacingUnreadableArchive() : store).signOut(with: authority)
        } catch {
            let advice =
                "`\(context.hint.command("logout", "--force"))` removes the archive: the other machines are then signed out too"
            throw force ? error : await context.adding(advice, to: error, about: store)
        }
        if report.quarantinedArchive != nil, store.isShared {
            Terminal.say(
                "Other machines that use this store are signed out too. The tokens in the archive stay valid at the service until "
                    + "they expire.")
        }
        if let incoming {
            Terminal.say("A sign-in from \(incoming.place), whose move to here was not completed, was discarded.")
        }
        guard case .notSupported = report.revocation else { return (report, nil) }
        return (report, await (authority as? any EndSessionAuthority)?.endSessionURL())
    }

    private func text(_ session: SessionName, _ report: SignOutReport, endingAt page: String?) -> String {
        let place = session == .default ? "" : " (session \(session))"
        if let archive = report.quarantinedArchive {
            return
                "Signed out\(place). The archive could not be opened, so it was moved to \(archive); the service could not "
                + "be told, because the tokens cannot be read."
        }
        guard let account = report.account else { return "Nobody was signed in\(place)." }
        if let move = account.move {
            return
                "Signed out \(account.shownName)\(place) here only: the sign-in goes on at \(move.place), and is ended "
                + "there."
        }
        let (result, reason) = RevocationResult.of(report)
        return "Signed out \(account.shownName)\(place)."
            + result.text(service: account.issuer ?? "The service", reason: reason, endingAt: page)
    }
}

/// Whether the service was told of a sign-out. The raw values are stable.
enum RevocationResult: String, Encodable {
    case notNeeded, done, queued, refused, notSupported, lost

    static func of(_ report: SignOutReport) -> (Self, UnverifiedReason?) {
        switch report.revocation {
        case .notNeeded: (.notNeeded, nil)
        case .done: (.done, nil)
        case .queued(let failure): (.queued, SessionDecision.reason(for: failure))
        case .refused(let failure): (.refused, SessionDecision.reason(for: failure))
        case .notSupported: (.notSupported, nil)
        case .lost(let failure): (.lost, SessionDecision.reason(for: failure))
        }
    }

    /// Empty if nothing went wrong.
    ///
    /// - Parameter page: The page at which the user signs out of the service.
    func text(service: String, reason: UnverifiedReason?, endingAt page: String? = nil) -> String {
        let why = reason.map { " (\($0))" } ?? ""
        let rest =
            page.map { "The tokens stay valid there until they expire. To end the session at the service, open \($0)" }
            ?? "The tokens stay valid there until they expire, unless you end the session at the service."
        return switch self {
        case .notNeeded, .done: ""
        case .queued: " \(service) could not be told yet\(why). The next command that reaches it revokes the tokens."
        case .refused: " \(service) was told, and refused to revoke the tokens\(why). \(rest)"
        case .notSupported: " \(service) cannot be told of a sign-out. \(rest)"
        case .lost: " \(service) could not be told\(why), and that could not be noted for later. \(rest)"
        }
    }
}
