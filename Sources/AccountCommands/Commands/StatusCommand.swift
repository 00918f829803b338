import AccountKit
import AccountSupport
import ArgumentParser

struct StatusCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "status", abstract: "Show the state of the session, without contacting the service.",
            discussion: """
                If \(App.tokenVariable) is set, the output describes that token. Only the service can identify the \
                user of the token.

                  \(CommandLine.toolName) status
                  \(CommandLine.toolName) status --session work --json
                """)
    }

    @OptionGroup(title: "Common options") var options: CommonOptions

    func run(in context: CommandContext<App>) async throws {
        let isGiven = App.environmentToken != nil
        let state = await context.store.load()
        let unfinished =
            isGiven || state.account == nil ? nil : try await context.archive.unfinishedRefresh()
        // If reading the revocations fails, the state contains the reason.
        let revocations = (try? await context.archive.pendingRevocations()) ?? []
        var document = StateDocument(state, session: context.session)
        // The user of a token from the environment is unknown without a request to the service.
        if isGiven { document.account = nil }
        if let unfinished { document.unfinishedRefreshAt = unfinished }
        let isOver = state.account?.isOver(at: Date()) == true
        if isOver { document.reason = "expired" }
        if let account = state.account, !isGiven, let reason = await context.archive.renewalRefusal(of: account) {
            (document.reason, document.message) = (reason.code.rawValue, reason.detail)
        }
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
        document.unsent = state.account == nil || isGiven ? nil : await unsentWork(context)
        let environment = context.environment(of: isGiven ? nil : state.account)
        document.environment = environment.isEmpty ? nil : environment.values
        if options.json {
            try JSONDocument.print(document)
        } else {
            var rows = rows(state, unfinished, revocations, context)
            let problems = isGiven ? [] : await problems(of: state, context)
            if document.reason == UnverifiedReason.Code.renewalRefused.rawValue, let account = state.account,
                let index = rows.firstIndex(where: { $0.0 == Self.expiryLabel })
            {
                rows[index].1 = expiry(of: account, isRenewed: false)
            }
            rows += problems.map { ("Problem", $0) }
            if let date = document.replicaAt {
                rows.append(("Replica", "from \(StateText.date(date)); the store cannot be reached"))
            }
            rows += store.map { ($0.label, $0.text + ($0.advice ?? "")) }
            if let unsent = document.unsent { rows.append(("Unsent", unsent)) }
            rows += await protectionRows(context)
            rows.append(("Archive", archive(context)))
            rows += environment.map { ("Environment", $0.summary) }
            let needsDoctor = !problems.isEmpty || unfinished != nil
            if let account = state.account, !isGiven, !isOver {
                let next = needsDoctor ? "run `\(context.hint.command("doctor"))` for details" : next(account, context)
                if let next { rows.append(("Next", next)) }
            }
            for (label, value) in rows {
                try Terminal.printRow(label.padding(to: 12), value, isBold: label == Self.userLabel)
            }
        }
        let code = isOver ? ExitCode(77) : state.exitCode()
        if code != .success { throw code }
    }

    private static var userLabel: String { "Signed in" }
    private static var expiryLabel: String { "Expires" }

    /// Describes what prevents the next refresh of the account in the archive.
    private func problems(of state: SessionState, _ context: CommandContext<App>) async -> [String] {
        guard let account = state.account else { return [] }
        let ended = await context.archive.renewalRefusal(of: account)
        let refusal = ended == nil ? await context.archive.refusesRefreshSince() : nil
        return [
            ended.map { StateText.sentence(StateText.noRenewal(of: account, $0, context.hint)) },
            refusal.map { StateText.refusal(of: account, since: $0, context.hint) },
            await context.assertionProblem(of: account),
            context.unusedProblem(of: account, in: context.session),
            StateText.narrowed(account.credentials, context.hint),
        ].compactMap(\.self)
    }

    private func rows(
        _ state: SessionState, _ unfinished: Date?, _ revocations: [PendingRevocation], _ context: CommandContext<App>
    ) -> [(String, String)] {
        var rows = [("Session", context.session.rawValue)]
        switch state {
        case _ where App.environmentToken != nil: rows += rowsOfGivenToken(context)
        case .verified(let account), .unverified(let account, _):
            let note =
                account.isClient
                ? " (a client, not a user)" : account.isNamedAfterAPI ? " (the service names no user)" : ""
            rows.append((Self.userLabel, account.shownName + note))
            if let key = context.clientKey(of: account) { rows.append(("Client key", key.path)) }
            if let issuer = account.issuer { rows.append(("Service", issuer)) }
            if !account.credentials.resources.isEmpty {
                rows.append(("API", account.credentials.resources.joined(separator: " ").shown))
            }
            if let workload = account.credentials.machine?.workload {
                rows.append(("Workload", workload.joined(separator: " ")))
            }
            if !account.credentials.scopes.isEmpty {
                rows.append(("Scopes", account.credentials.scopes.joined(separator: " ")))
            }
            if let tokens = tokens(of: account.credentials) { rows.append(("Tokens", tokens)) }
            rows.append(("Confirmed", account.verifiedAt.map(time) ?? "never"))
            rows.append((Self.expiryLabel, expiry(of: account, isRenewed: account.credentials.isRenewable)))
            if account.isOver(at: Date()) {
                rows.append(("Problem", StateText.sentences(StateText.end(of: account, context.hint))))
            }
        case .signedOut(let signOut):
            rows.append((Self.userLabel, StateText.summary(of: signOut, context.hint)))
        case .unreadable(let error):
            rows.append((Self.userLabel, "unknown: the archive cannot be read"))
            rows.append(("Problem", "\(error.userText)"))
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
                : "tokens queued on \(date) are not yet revoked at \(service)"
            rows.append(("Revocation", text))
        }
        return rows
    }

    private func rowsOfGivenToken(_ context: CommandContext<App>) -> [(String, String)] {
        let whoAmI = context.hint.command("whoami")
        var rows = [
            (Self.userLabel, "with the token in \(App.tokenVariable); run `\(whoAmI)` to identify the user")
        ]
        // If the settings are unreadable, `doctor` reports the reason.
        if let service = try? context.rememberedService(), let place = service.issuer ?? service.name {
            rows.append(("Service", place))
        }
        return rows + [("Expires", "unknown")]
    }

    private func replicaDate(_ context: CommandContext<App>) async -> Date? {
        context.location == nil ? nil : await context.archive.replicaDate()
    }

    private func archive(_ context: CommandContext<App>) -> String {
        context.archivePlace + (App.environmentToken == nil ? "" : " (not used while \(App.tokenVariable) is set)")
    }

    /// Describes the app's unsent changes or, if its data cannot be read, the reason.
    private func unsentWork(_ context: CommandContext<App>) async -> String? {
        do {
            // If the user has no data, opening the data would create it.
            guard try await context.archive.hasOfflineKeys() else { return nil }
            return try await App.linkedStorage(of: context.archive)?.unsentWork()
        } catch {
            return "unreadable (\(error.userText))"
        }
    }

    /// Returns the rows about the keys that open the archive. If the key slots cannot be read, the state contains the
    /// reason.
    private func protectionRows(_ context: CommandContext<App>) async -> [(String, String)] {
        guard let slots = try? await context.archive.keySlots(), !slots.isEmpty else { return [] }
        let keys = slots.map { slot in
            let text =
                switch slot.kind {
                case .keyFile: "key file"
                case .passphrase: "passphrase"
                case .command: "program that prints the key"
                case .environment: "environment"
                }
            return text + (slot.isAvailable ? "" : slot.kind == .passphrase ? " (locked)" : " (not available here)")
        }
        return [("Opened by", keys.joined(separator: ", or "))]
    }

    /// Describes what the user must do next if there is no problem; `nil` if nothing is known.
    private func next(_ account: Account, _ context: CommandContext<App>) -> String? {
        if let machine = account.credentials.machine {
            guard App.acceptsIssuer, machine.needsSecret, Environment.value(App.clientSecretVariable) == nil else {
                return "nothing: commands request new tokens automatically"
            }
            return "set \(App.clientSecretVariable), which each request for a new token needs"
        }
        if account.credentials.isRenewable { return "nothing: commands refresh the tokens automatically" }
        guard account.credentials.expiresAt != nil else { return nil }
        return "sign in again before the session expires: `\(context.hint.command("login"))`"
    }

    /// Describes the tokens if programs cannot use them like other tokens.
    private func tokens(of credentials: Credentials) -> String? {
        if let reason = credentials.withholdingReason { return "withheld: \(reason.detail ?? "\(reason)")" }
        return credentials.requiresProof ? "bound to a key of this session (DPoP)" : nil
    }

    private func time(_ date: Date) -> String {
        let relative = StateText.relative(date)
        return relative.hasPrefix("on ") ? relative : "\(relative) (\(StateText.date(date)))"
    }

    private func expiry(of account: Account, isRenewed: Bool) -> String {
        guard let expiresAt = account.credentials.expiresAt else { return "unknown" }
        let isExpired = account.credentials.isExpired(at: Date())
        let state = isRenewed ? isExpired ? "; refreshed at the next use" : ", then refreshed" : ""
        return (isExpired ? "expired " : "") + time(expiresAt) + state
    }
}

extension AppContainer {
    func archivePath(of session: SessionName) -> String {
        directory(of: session) + "/" + ArchiveEntry.account.rawValue
    }
}
