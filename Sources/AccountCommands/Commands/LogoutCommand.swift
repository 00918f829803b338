import AccountKit
import ArgumentParser

/// `logout`: signs out here at once, and tells the service.
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

    @OptionGroup var options: CommonOptions

    private struct Document: Encodable {
        struct Part: Encodable {
            var session: String
            var username: String?
            var revocation: String
        }

        var state = "signedOut"
        var sessions: [Part]
    }

    func run(in context: CommandContext<App>) async throws {
        try context.refuseEnvironmentToken(to: "sign out")
        let sessions = all ? try context.container.sessions() : [context.session]
        var parts: [Document.Part] = []
        var failure: AccountError?
        for session in sessions {
            do {
                let report = try await signOut(try await context.store(of: session), context)
                parts.append(part(session, report))
                if !options.json { context.say(text(session, report)) }
            } catch let error as AccountError where all {
                // The others are signed out all the same.
                context.say("session \(session): \(error)")
                failure = error
            }
        }
        if options.json { try JSONDocument.print(Document(sessions: parts)) }
        if let failure { throw ExitStatus.code(of: failure) }
    }

    private func signOut(_ store: AccountStore, _ context: CommandContext<App>) async throws -> SignOutReport {
        var authority: (any AccountAuthority)?
        if !local, let account = await store.load().account {
            do {
                authority = try await context.authority(of: account, in: store.session, timeout: .seconds(5))
            } catch {
                // An account whose service cannot be made out must not stay signed in for that.
                context.say("note: no service is told of this sign-out (\(error))")
            }
        }
        return try await store.signOut(with: authority)
    }

    private func text(_ session: SessionName, _ report: SignOutReport) -> String {
        let place = session == .default ? "" : " (session \(session))"
        guard let account = report.account else { return "Nobody was signed in\(place)." }
        var text = "Signed out \(account.shownName)\(place)."
        if case .queued(let signal) = report.revocation {
            let reason = UnverifiedReason(signal)
            text +=
                " \(account.issuer ?? "The service") could not be told yet (\(reason)); a later command tells it, once it "
                + "can be reached."
        }
        if case .lost(let signal) = report.revocation {
            let reason = UnverifiedReason(signal)
            text +=
                " \(account.issuer ?? "The service") could not be told (\(reason)), and there was no room to write that down for "
                + "later: its tokens are good until they expire, unless you end the session there."
        }
        return text
    }

    private func part(_ session: SessionName, _ report: SignOutReport) -> Document.Part {
        let revocation =
            switch report.revocation {
            case .notNeeded: "notNeeded"
            case .done: "done"
            case .queued: "queued"
            case .refused: "refused"
            case .notSupported: "notSupported"
            case .lost: "lost"
            }
        return Document.Part(session: session.rawValue, username: report.account?.username, revocation: revocation)
    }
}

extension UnverifiedReason {
    /// Why a service could not be told something, in the words of a reason.
    init(_ signal: AuthoritySignal) {
        if case .keep(let reason) = Ruling(on: signal, to: .verify, .init(holdsRefreshToken: false)) {
            self = reason
        } else {
            self.init(.unclearReply)
        }
    }
}
