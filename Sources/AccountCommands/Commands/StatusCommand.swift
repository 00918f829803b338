import AccountKit
import ArgumentParser

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct StatusCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "status", abstract: "Show the state of the session, without contacting the service.",
            discussion:
                "If \(App.tokenVariable) is set, the output describes that token. Only the service knows its user.")
    }

    @OptionGroup var options: CommonOptions

    func run(in context: CommandContext<App>) async throws {
        let isGiven = App.environmentToken != nil
        let state = await context.store.load()
        let unfinished =
            isGiven || state.account == nil ? nil : try await context.archive.unfinishedRefresh()
        // If reading these fails, the state gives the reason.
        let revocations = (try? await context.archive.pendingRevocations()) ?? []
        var document = StateDocument(state, session: context.session)
        // Until the service is asked, the user of the token is unknown.
        if isGiven { document.account = nil }
        if let unfinished { document.unfinishedRefreshAt = unfinished }
        let isOver = state.account?.isOver(at: Date()) == true
        let isMoved = state.account?.move != nil
        if isOver { document.reason = isMoved ? UnverifiedReason.Code.moved.rawValue : "expired" }
        // Omit an unreadable move; `doctor` gives the reason.
        let incoming = state.isSignedOut ? try? await context.archive.incomingMove() : nil
        document.incomingFrom = incoming?.place
        if isGiven { document.source = App.tokenVariable }
        document.archive = context.archivePlace
        document.replicaAt = await replicaDate(context)
        let store = context.location == nil ? [] : await context.archive.inspectStorage()
        document.store = store.isEmpty ? nil : store
        document.pendingRevocations =
            revocations.isEmpty
            ? nil
            : revocations.map {
                .init(issuer: $0.issuer, date: $0.date, waitsForSignOut: $0.waitsForSignOut ? true : nil)
            }
        let environment = context.environment(of: isGiven ? nil : state.account)
        document.environment = environment.isEmpty ? nil : environment.values
        if options.json {
            try JSONDocument.print(document)
        } else {
            var rows = rows(state, unfinished, revocations, context)
            if let account = state.account, let date = await context.archive.refusesRefreshSince() {
                rows.append(("Problem", StateText.refusal(of: account, since: date, context.hint)))
            }
            if let text = state.account.flatMap({ StateText.narrowed($0.credentials, context.hint) }) {
                rows.append(("Problem", text))
            }
            if let date = document.replicaAt {
                rows.append(("Replica", "of \(StateText.date(date)); the store cannot be reached"))
            }
            if let incoming { rows.append(("Incoming", StateText.text(incoming: incoming, context.hint))) }
            rows += store.map { ($0.label, $0.text + ($0.advice ?? "")) }
            rows += environment.map { ("Environment", $0.summary) }
            for (label, value) in rows {
                try Terminal.printLine(label.padding(to: 12) + value)
            }
        }
        let code = isOver ? ExitCode(isMoved ? 78 : 77) : state.exitCode()
        if code != .success { throw code }
    }

    private func rows(
        _ state: SessionState, _ unfinished: Date?, _ revocations: [PendingRevocation], _ context: CommandContext<App>
    ) -> [(String, String)] {
        var rows = [("Session", context.session.rawValue)]
        switch state {
        case _ where App.environmentToken != nil: rows += rowsOfGivenToken(context)
        case .verified(let account), .unverified(let account, _):
            rows.append(("Signed in", account.shownName))
            if let issuer = account.issuer { rows.append(("Service", issuer)) }
            if !account.credentials.scopes.isEmpty {
                rows.append(("Scopes", account.credentials.scopes.joined(separator: " ")))
            }
            rows.append(("Confirmed", account.verifiedAt.map(StateText.date) ?? "never"))
            rows.append(("Expires", expiry(of: account.credentials)))
            if let move = account.move {
                rows.append(("Moved", StateText.text(move, context.hint)))
            } else if account.isOver(at: Date()) {
                rows.append(("Problem", StateText.end(of: account, context.hint)))
            }
        case .signedOut(let signOut):
            rows.append(("Signed in", "no. " + StateText.explanation(of: signOut, context.hint)))
        case .unreadable(let error):
            rows.append(("Signed in", "unknown: the archive cannot be read"))
            rows.append(("Problem", "\(error)"))
        }
        if let unfinished {
            rows.append(
                (
                    "Refresh",
                    "a refresh began on \(StateText.date(unfinished)), but its response was not stored; if the "
                        + "service counts that token as used, the next refresh ends the session"
                ))
        }
        for revocation in revocations {
            let service = revocation.issuer ?? "the service"
            let date = StateText.date(revocation.date)
            let text =
                revocation.waitsForSignOut
                ? "tokens of the session replaced on \(date) will be revoked at \(service) when you sign out"
                : "tokens from \(date) are not yet revoked at \(service)"
            rows.append(("Revocation", text))
        }
        let isUsed = App.environmentToken == nil
        rows.append(("Archive", context.archivePlace + (isUsed ? "" : " (not used while \(App.tokenVariable) is set)")))
        return rows
    }

    /// Returns the rows for a token from the environment, whose user only the service knows.
    private func rowsOfGivenToken(_ context: CommandContext<App>) -> [(String, String)] {
        let whoAmI = context.hint.command("whoami")
        var rows = [
            ("Signed in", "with the token in \(App.tokenVariable); run `\(whoAmI)` to ask the service for its user")
        ]
        // If the settings are unreadable, `doctor` gives the reason.
        if let service = try? context.rememberedService(), let place = service.issuer ?? service.name {
            rows.append(("Service", place))
        }
        return rows + [("Expires", "unknown")]
    }

    /// Returns `nil` for files, which have no replica.
    private func replicaDate(_ context: CommandContext<App>) async -> Date? {
        context.location == nil ? nil : await context.archive.replicaDate()
    }

    private func expiry(of credentials: Credentials) -> String {
        guard let expiresAt = credentials.expiresAt else { return "unknown" }
        let isExpired = credentials.expires(within: .zero, of: Date())
        let isRenewable = credentials.refreshToken != nil
        let state =
            isExpired
            ? isRenewable ? " (expired; refreshed at the next use)" : " (expired)"
            : isRenewable ? ", then refreshed" : ""
        return StateText.date(expiresAt) + state
    }
}

extension String {
    package func padding(to count: Int) -> String {
        self + String(repeating: " ", count: max(0, count - self.count))
    }
}

extension AppContainer {
    func archivePath(of session: SessionName) -> String {
        directory(of: session) + "/" + ArchiveEntry.account.rawValue
    }
}
