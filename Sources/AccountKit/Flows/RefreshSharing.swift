import AccountSupport
import Logging

/// Tasks of this process that need the same tokens share one refresh. Machines that share a storage refresh one after
/// the other.
extension Flows {
    /// The time for which a refresh waits for the lease: long enough for two exchanges of another process.
    private static let leaseTimeout = Duration.seconds(150)

    /// Refreshes an account or derives a token, or joins a task that does the same. The refresh continues after
    /// `deadline`. `failureCount` is the number of failed refreshes of these tokens; `nil` if the caller has not read
    /// it.
    func refresh(
        _ account: Account, deriving derivation: Derivation? = nil, _ authority: any AccountAuthority,
        failureCount: Int? = nil, until deadline: ContinuousClock.Instant? = nil
    ) async -> RefreshOutcome {
        // Without threads, the task below would wait forever.
        guard ThreadSupply.isSufficient else { return .kept(account, SessionDecision.reason(for: .noThread)) }
        let request = Request(account: account, derivation: derivation)
        do throws(SingleFlight<Request, RefreshOutcome>.Departure) {
            return try await refreshes.value(for: request, until: deadline) { progress in
                var known = failureCount
                if known == nil { known = await vault.readableRefreshRecord()?.failureCount }
                return await refresh(request, failureCount: known ?? 0, authority, progress)
            }
        } catch {
            let reason: UnverifiedReason =
                switch error {
                case .cancelled: .init(.cancelled)
                case .timeout(.committed): .init(.awaitingResponse)
                // The flow was connecting to the service.
                case .timeout(.begun): SessionDecision.reason(for: .noResponse(.timeout))
                case .timeout(.waiting): .init(.busy, detail: "another program is refreshing this session")
                }
            return .kept(account, reason)
        }
    }

    private func refresh(
        _ request: Request, failureCount: Int, _ authority: any AccountAuthority,
        _ progress: SingleFlight<Request, RefreshOutcome>.Progress
    ) async -> RefreshOutcome {
        let account = request.account
        await vault.askBeforeLock()
        let outcome: RefreshOutcome
        do {
            // All waiting processes use the stored result, so they do not need to acquire the lease one after the
            // other.
            outcome = try await vault.withLease(timeout: Self.leaseTimeout) {
                await outcomeOfAnother(request, failureCount: failureCount)
            } _: { lease in
                let service = LiveService(authority, self, under: lease, progress: progress)
                let flow = RefreshFlow(
                    lease, service, of: account, by: request.grant, now: vault.clock.now,
                    supportsPerGrantRevocation: authority.supportsPerGrantRevocation, after: failureCount)
                // If all callers leave before the exchange is committed, `SingleFlight` cancels this task.
                let outcome = await flow.run()
                // Begin before the end of the exchange, for which `finishPendingRequests()` waits.
                if case .renewed(let account) = outcome { deliverDue(after: account, at: authority) }
                service.end()
                return outcome
            }
        } catch is CancellationError {
            return .kept(account, .init(.cancelled))
        } catch {
            return .kept(account, .init(.init(savingFailure: error), detail: error.userText))
        }
        vault.logger?.debug("refresh ended", metadata: ["outcome": "\(outcome.logText.shown)"])
        switch outcome {
        case .unsaved(_, let error):
            vault.logger?.error("new tokens could not be saved", metadata: ["error": "\(error)"])
        case .kept(let account, let reason) where reason.code == .wrongAccount: await withhold(account)
        default: break
        }
        return outcome
    }

    /// Records that according to the service, the stored tokens belong to another user, so that no program gets these
    /// tokens.
    func withhold(_ account: Account) async {
        await vault.attempt(orLog: "the account of the wrong user could not be marked") {
            try await vault.change { draft in
                guard case .present(var stored, let revision) = await draft.read(),
                    stored.isSameGrant(as: account), !stored.credentials.isOfOtherUser
                else { return }
                stored.credentials.isOfOtherUser = true
                _ = try await draft.save(stored, ifRevision: revision)
            }
        }
    }

    // MARK: Waiting for another process

    /// Waits until another process makes this refresh unnecessary, and returns the outcome; `nil` if the storage no
    /// longer reports changes.
    private func outcomeOfAnother(_ request: Request, failureCount: Int) async -> RefreshOutcome? {
        // A refresh stores new tokens before it removes its record, so read the changes one after the other. The
        // element `nil` means that one of the two entries is no longer observed.
        let (changes, change) = AsyncStream.makeStream(of: ArchiveEntry?.self)
        return await withTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            let entries = [ArchiveEntry.account, .refreshRecord]
            for entry in entries {
                group.addTask {
                    await vault.attempt(orLog: "changes by other processes cannot be observed", .debug) {
                        let told = vault.storage.changes(of: entry)
                        // Another task of this process may have read the change before the watch began.
                        if entry == .account, vault.shared.account?.isIdentical(to: request.account) != true {
                            change.yield(entry)
                        }
                        for try await _ in told { change.yield(entry) }
                    }
                    change.yield(nil)
                }
            }
            var endCount = 0
            for await entry in changes {
                let outcome: RefreshOutcome? =
                    switch entry {
                    case .account?: await outcomeWithoutRefresh(request)
                    case .some:
                        await vault.pauseOfAnother(failureCount: failureCount).map { .kept(request.account, $0) }
                    case nil: nil
                    }
                if entry == nil { endCount += 1 }
                if outcome != nil || endCount == entries.count { return outcome }
            }
            return nil
        }
    }

    private func outcomeWithoutRefresh(_ request: Request) async -> RefreshOutcome? {
        switch await vault.read() {
        case .present(let stored, _):
            let isNeeded = request.grant.isNeeded(for: stored, inPlaceOf: request.account, at: vault.clock.now)
            return isNeeded ? nil : .adopted(stored)
        // If no sign-out is recorded, a sign-in may be in progress. Only the lock rules this out.
        case .absent(let signOut): return signOut.reason == .neverSignedIn ? nil : .signedOut(signOut)
        case .unreadable: return nil
        }
    }
}
