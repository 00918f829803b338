import AccountKit
import AccountSupport

/// Checks that the archives of all sessions open, and finds unfinished operations.
struct SessionInspection<App: AccountApplication> {
    let context: CommandContext<App>

    func findings() async throws -> [Finding] {
        var findings: [Finding] = []
        let sessions: [SessionName]
        do {
            sessions = try await context.sessions()
        } catch {
            return [Finding(error)]
        }
        for session in sessions {
            do {
                findings += try await self.findings(of: session)
            } catch {
                findings.append(Finding(error, in: session))
            }
        }
        do {
            let chosen = try context.preferences.defaultSession()
            if chosen != .default, !sessions.contains(chosen) {
                findings.append(
                    Finding(
                        problem: "the default session \(chosen) does not exist",
                        advice: ": run `\(context.tool) switch default`",
                        repair: { try await context.preferences.setDefaultSession(.default) }))
            }
            if App.acceptsIssuer { _ = try context.preferences.service(of: context.session) }
        } catch {
            findings.append(Finding(error))
        }
        return findings
    }

    private func findings(of session: SessionName) async throws -> [Finding] {
        let store = try context.archive(of: session)
        var findings: [Finding] = []
        findings += await stateFindings(of: session, in: store)
        findings += await leftovers(of: session, in: store)
        let folder = context.container.directory(of: session)
        let names = try SystemCall.names(in: folder).filter { $0.hasSuffix(".plist") && !$0.hasPrefix(".") }
        if names.isEmpty, context.location == nil {
            findings.append(
                Finding(
                    problem: "session \(session) is empty: no user has signed in (\(folder) contains no account)",
                    isNote: true))
        }
        if (try? await store.unfinishedRefresh()) ?? nil != nil {
            findings.append(
                Finding(
                    problem:
                        "session \(session): a refresh began, but its response was not stored; if the service counts "
                        + "its token as used, the next refresh ends the session", isNote: true))
        }
        return findings
    }

    private func stateFindings(of session: SessionName, in store: AccountStore) async -> [Finding] {
        // Don't ask for a passphrase. If the slots are unreadable, `load` returns the reason.
        let slots = (try? await store.keySlots()) ?? []
        if !slots.contains(where: \.isAvailable), slots.contains(where: { $0.kind == .passphrase }) {
            return [
                Finding(problem: "session \(session) is locked by a passphrase, so it was not inspected", isNote: true)
            ]
        }
        switch await store.load() {
        case .unreadable(let error): return [Finding(error, in: session)]
        case .verified(let account), .unverified(let account, _):
            return await findings(of: account, session: session, in: store)
        case .signedOut: return []
        }
    }

    private func findings(of account: Account, session: SessionName, in store: AccountStore) async -> [Finding] {
        let hint = context.hint(for: session)
        var findings: [Finding] = []
        if account.isClient {
            findings.append(
                Finding(
                    problem: "session \(session) belongs to the client \(account.shownName), not to a user",
                    isNote: true))
        }
        do throws(AccountError) {
            _ = try context.clientKey(of: account, in: session)?.read()
        } catch {
            let advice = error.hint.map { ": \($0)" } ?? ""
            findings.append(Finding(problem: "session \(session): \(error.message)", advice: advice))
        }
        if account.isOver(at: SystemWallClock().now) {
            findings.append(Finding(problem: "session \(session): \(StateText.end(of: account, hint))"))
        } else if let reason = await store.renewalRefusal(of: account) {
            findings.append(
                Finding(problem: "session \(session): \(StateText.noRenewal(of: account, reason, hint))"))
        } else if let date = await store.refusesRefreshSince() {
            findings.append(
                Finding(problem: "session \(session): \(StateText.refusal(of: account, since: date, hint))"))
        } else if let text = context.unusedProblem(of: account, in: session) {
            findings.append(Finding(problem: "session \(session): \(text)"))
        }
        return findings
    }

    private func leftovers(of session: SessionName, in store: AccountStore) async -> [Finding] {
        await store.unreadableEntries().map { unreadable in
            let name = unreadable.entry.rawValue
            let path = context.container.directory(of: session) + "/" + name
            let place = context.location.map { "\(name) at \($0.text)" } ?? path
            guard unreadable.isDamaged else {
                let remedy = context.location == nil ? ", or remove the file with `rm \(path.shellWord)`" : ""
                return Finding(
                    problem: "session \(session): \(place) cannot be opened",
                    advice: ": restore the key that encrypted it" + remedy)
            }
            return Finding(
                problem: "session \(session): \(place) is damaged",
                advice: ": `\(context.tool) doctor --fix` moves it aside",
                repair: { try await store.quarantine(unreadable) })
        }
    }

    func storageFindings() async -> [Finding] {
        guard context.location != nil else { return [] }
        return await context.archive.inspectStorage().map {
            Finding(problem: "the store: \($0.label) \($0.text)", advice: $0.advice ?? "", isNote: $0.advice == nil)
        }
    }

    /// Finds out whether the session of a workload can be renewed by this program.
    func assertionFindings(of account: Account?) async -> [Finding] {
        guard let account, let text = await context.assertionProblem(of: account, isQuick: false) else { return [] }
        return [Finding(problem: "session \(context.session): \(text)")]
    }

    /// Returns no findings if there is no authority, because every command that needs the authority reports the reason.
    func clockFindings(of account: Account?) async -> [Finding] {
        guard let account, let authority = try? context.authority(of: account, timeout: .seconds(5)) else { return [] }
        do {
            // A smaller difference affects neither tokens nor certificates.
            guard let offset = try await authority.clockOffset(), abs(offset.seconds) > 60 else { return [] }
            let text = Duration.seconds(abs(offset.seconds).rounded()).text
            return [
                Finding(
                    problem: "this machine's clock is \(text) \(offset > .zero ? "behind" : "ahead of") that of "
                        + (account.issuer ?? "the service"),
                    advice: ", so that tokens seem to expire too \(offset > .zero ? "late" : "early"): run "
                        + "`sudo timedatectl set-ntp true`")
            ]
        } catch {
            return [
                Finding(
                    problem:
                        "the clock cannot be compared with the service's (\(SessionDecision.reason(for: AuthorityError(error))))",
                    isNote: true)
            ]
        }
    }
}
