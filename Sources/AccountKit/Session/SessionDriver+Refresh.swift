import Logging

/// Refreshes: one at a time for those who want the same in this process, and one at a time on all machines that share a storage.
extension SessionDriver {
    /// How long a refresh waits for that of another process: for two of its exchanges.
    private static let leaseTimeout = Duration.seconds(150)

    /// Refreshes an account, or derives a token from it, or joins those who are at the same.
    ///
    /// - Parameters:
    ///   - failureCount: How many refreshes of these tokens had failed by now; `nil` if that was not looked at.
    ///   - deadline: Until when to wait for it. It goes on afterwards.
    func refresh(
        _ account: Account, deriving derivation: Derivation? = nil, _ authority: any AccountAuthority,
        failureCount: Int? = nil, until deadline: ContinuousClock.Instant? = nil
    ) async -> RefreshOutcome {
        let request = Request(account: account, derivation: derivation)
        do throws(SingleFlight<Request, RefreshOutcome>.Departure) {
            return try await refreshes.value(for: request, until: deadline) { progress in
                var known = failureCount
                if known == nil { known = await archive.journal.readableRecord()?.failureCount }
                return await refresh(request, failureCount: known ?? 0, authority, progress)
            }
        } catch {
            let reason: UnverifiedReason =
                switch error {
                case .cancelled: .init(.cancelled)
                case .timeout(.committed): .init(.awaitingResponse)
                // It was looking up the service, or connecting.
                case .timeout(.begun): SessionDecision.reason(for: .noResponse(.timeout))
                case .timeout(.waiting): .init(.busy, detail: "another program is refreshing this sign-in")
                }
            return .kept(account, reason)
        }
    }

    private func refresh(
        _ request: Request, failureCount: Int, _ authority: any AccountAuthority,
        _ progress: SingleFlight<Request, RefreshOutcome>.Progress
    ) async -> RefreshOutcome {
        let account = request.account
        await archive.askBeforeLock()
        let lease: any ArchiveLease
        do {
            switch try await awaitLease(request, failureCount: failureCount) {
            case .lease(let acquired): lease = acquired
            case .outcome(let outcome): return outcome
            }
        } catch is CancellationError {
            return .kept(account, .init(.cancelled))
        } catch {
            return .kept(account, .init(.init(savingFailure: error), detail: "\(error)"))
        }
        let effects = LiveSessionEffects(
            self, authority: authority, lease: lease, progress: progress, failureCount: failureCount)
        var flow = RefreshFlow(
            of: account, deriving: request.derivation, now: clock.now,
            supportsPerGrantRevocation: authority.supportsPerGrantRevocation)
        // The task is cancelled only if all callers have left before the request is sent.
        let outcome = await flow.run(effects)
        await effects.end()
        switch outcome {
        case .unsaved(_, let error): logger?.error("new tokens could not be saved", metadata: ["error": "\(error)"])
        case .kept(let account, let reason) where reason.code == .wrongAccount: await withhold(account)
        default: break
        }
        return outcome
    }

    /// Records that the service takes the stored tokens for another user's, so that no process hands them out.
    func withhold(_ account: Account) async {
        do {
            try await withTransaction { transaction in
                guard case .present(var stored, let revision) = await load(transaction),
                    stored.isSameGrant(as: account), !stored.credentials.isWithheld
                else { return }
                stored.credentials.isWithheld = true
                _ = try await save(stored, revision, transaction)
            }
        } catch {
            logger?.warning("the account of the wrong user could not be marked", metadata: ["error": "\(error)"])
        }
    }

    // MARK: Waiting for another's

    private enum Awaited: Sendable {
        case lease(any ArchiveLease)

        /// What the refresh of another process has brought.
        case outcome(RefreshOutcome)
    }

    /// Waits for the lease, or, while another process holds it, for what its refresh brings.
    ///
    /// A thousand that wait are served by that one's commit, and need not take the lease one after the other.
    private func awaitLease(_ request: Request, failureCount: Int) async throws -> Awaited {
        do {
            return .lease(try await archive.storage.acquireRefreshLease(timeout: .zero))
        } catch {
            guard (error as? AccountError)?.code == .busy else { throw error }
        }
        let result = await withTaskGroup(of: Result<Awaited?, any Error>.self) { group in
            group.addTask {
                do {
                    return .success(.lease(try await archive.storage.acquireRefreshLease(timeout: Self.leaseTimeout)))
                } catch {
                    return .failure(error)
                }
            }
            group.addTask { .success(await outcomeOfAnother(request, failureCount: failureCount).map(Awaited.outcome)) }
            var result: Result<Awaited, any Error>?
            for await next in group {
                switch (result, next) {
                // Changes that cannot be told: then only the lease is waited for.
                case (_, .success(nil)): continue
                case (nil, .success(let awaited?)): result = .success(awaited)
                case (nil, .failure(let error)): result = .failure(error)
                case (_?, .success(.lease(let late))): await late.end()
                case (_?, _): continue
                }
                group.cancelAll()
            }
            // The one that waits for the lease always has one.
            return result!
        }
        return try result.get()
    }

    /// Listens till what is stored makes a refresh of one's own unnecessary.
    ///
    /// - Returns: `nil` if that cannot be told any more.
    private func outcomeOfAnother(_ request: Request, failureCount: Int) async -> RefreshOutcome? {
        // One after the other: new tokens are stored first, and then the record of their refresh goes, which need not be read.
        // `nil` says that one of the two is not told any more. What is not taken yet is as many as there are changes meanwhile: few.
        let (changes, change) = AsyncStream.makeStream(of: ArchiveEntry?.self)
        return await withTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            let entries = [ArchiveEntry.account, .refreshRecord]
            for entry in entries {
                group.addTask {
                    do {
                        let told = archive.storage.changes(of: entry)
                        // What somebody else in this process has read meanwhile need not be told any more.
                        if entry == .account, shared.account?.isIdentical(to: request.account) != true {
                            change.yield(entry)
                        }
                        for try await _ in told { change.yield(entry) }
                    } catch {
                        logger?.debug(
                            "what another process stores cannot be followed", metadata: ["error": "\(error)"])
                    }
                    change.yield(nil)
                }
            }
            var endCount = 0
            for await entry in changes {
                let outcome: RefreshOutcome? =
                    switch entry {
                    case .account?: await outcomeWithoutRefresh(request)
                    case .some: await pauseOfAnother(failureCount: failureCount).map { .kept(request.account, $0) }
                    case nil: nil
                    }
                if entry == nil { endCount += 1 }
                if outcome != nil || endCount == entries.count { return outcome }
            }
            return nil
        }
    }

    private func outcomeWithoutRefresh(_ request: Request) async -> RefreshOutcome? {
        switch await load() {
        case .present(let stored, _):
            let flow = RefreshFlow(of: request.account, deriving: request.derivation, now: clock.now)
            return flow.isToBeUsed(stored) ? nil : .adopted(stored)
        // Without a reason, only who holds the lock knows that nobody is signing in at this moment.
        case .absent(let signOut): return signOut.reason == .neverSignedIn ? nil : .signedOut(signOut)
        case .unreadable: return nil
        }
    }

    /// Why the service is to be left alone, if a refresh of another process has failed meanwhile.
    func pauseOfAnother(failureCount: Int) async -> UnverifiedReason? {
        guard let record = await archive.journal.readableRecord(), record.failureCount ?? 0 != failureCount else {
            return nil
        }
        return record.pause(at: clock.now)
    }
}
