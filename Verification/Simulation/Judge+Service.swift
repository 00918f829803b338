import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The rules for requests to the service.
extension Judge {
    /// A process is about to make a call.
    func asked(_ call: Call) {
        if let account = call.account, !world.service.hasKey(account) {
            violate(.nobodyElsesSessionIsTouched, "a process lost the key of \(account.token): \(call.text)")
        }
        guard let operation = Operation.current else { return }
        if call.isRequest {
            operation.requestCount += 1
            if operation.transactionCount > 0 {
                violate(.nobodyWaitsForTheService, "\(operation.kind) \(operation.number) has the lock: \(call.text)")
            }
        }
        if case .lease = call, operation.kind == .refresh { operation.isLeasing = true }
        // An attempt without a timeout does not wait. `finishPendingRequests` is meant to wait.
        if case .lease(isPatient: true) = call, !operation.kind.isRefreshing, operation.kind != .finishPendingRequests {
            violate(.nobodyWaitsForTheService, "\(operation.kind) \(operation.number) waits for a refresh")
        }
    }

    /// The service has issued new tokens.
    func issued(_ tokens: Tokens, to turn: Turn) {
        issued["a\(tokens.text)"] = (turn.process, turn.operation)
        turn.process.inHand.insert(tokens.grant)
        turn.operation?.responsible.insert(tokens.grant)
    }

    /// The service has issued a refresh token with a token for another API.
    func derived(_ tokens: Tokens, to turn: Turn) {
        turn.process.inHand.insert(tokens.grant)
        turn.operation?.responsible.insert(tokens.grant)
    }

    /// The response to a request with a refresh token was odd.
    func noteOddity(_ oddity: Service.Oddity?, of credentials: Credentials, _ tokens: Tokens) {
        guard let oddity else { return }
        odd.insert(tokens)
        switch oddity {
        case .otherType: world.coverage.count(.otherType)
        case .otherUser: world.coverage.count(.otherUser)
        case .noAccessToken:
            world.coverage.count(.noAccessToken)
            return
        }
        withheld[credentials.token] = oddity
    }

    func issued(_ token: String) -> (process: SimulatedProcess, operation: Operation?)? { issued[token] }

    /// Checks that a refresh sends only tokens that it has read. If another process has replaced these tokens, the refresh adopts the new
    /// tokens.
    func asks(_ turn: Turn, for tokens: Tokens) {
        // The same applies to a refresh token that came with a token for another API, after unsaved ones.
        let isUnsaved = turn.process.unsaved.contains { $0.grant == tokens.grant && $0.access == tokens.access }
        guard let operation = turn.operation, !operation.read.contains(tokens), !isUnsaved else { return }
        violate(.refreshTokenIsSentOnce, "r\(tokens.text) was sent, although the operation had read other tokens")
    }

    /// The service receives a refresh token.
    func redeems(_ tokens: Tokens) {
        guard world.service.isSpent(tokens) else { return }
        world.coverage.count(.reuse)
        // If the lock can be lost unnoticed, this rule does not hold.
        guard !excused.contains(tokens), !world.weather.canLockBeLost else { return }
        violate(.refreshTokenIsSentOnce, "r\(tokens.text) came again, though its response had come and could be saved")
    }

    /// An API refused a token that can be renewed, and AccountKit returned no other token. This is right only for a token that was itself a
    /// replacement.
    func gotNoReplacement(for account: Account, _ process: SimulatedProcess) {
        guard process.isAlive, !process.refusedReplacements.contains(account.token) else { return }
        violate(.refusedTokenIsReplaced, "an API refused \(account.token), and no other token was requested")
    }

    func revokes(_ account: Account, _ operation: Operation?) {
        revokesOthers(account, operation)
        // Unsaved tokens differ from the stored ones. If their process dies during a sign-out, another process cannot detect that both
        // belong to the same sign-in. In that case, the stored tokens are already spent.
        guard let stored = versions.last!.account, stored.tokens.grant == account.tokens.grant,
            !world.service.isSpent(stored.tokens), !world.weather.canLockBeLost, !hasMissedRevocation
        else { return }
        violate(.nobodyElsesSessionIsTouched, "\(account.token) was revoked, and \(stored.token) is signed in")
    }

    /// Checks a revocation at a service that ends all sign-ins of the user. AccountKit reads the archive before such a revocation, but
    /// cannot prevent a sign-in after that read.
    private func revokesOthers(_ account: Account, _ operation: Operation?) {
        let grant = account.tokens.grant
        guard !world.weather.canLockBeLost else { return }
        if let operation, let found = versions[operation.lockedVersion].account, found.tokens.grant != grant,
            world.service.ends(found.tokens.grant, by: grant)
        {
            violate(.nobodyElsesSessionIsTouched, "\(account.token) was revoked, which ends \(found.token), too")
        } else if let stored = versions.last!.account, stored.tokens.grant != grant,
            world.service.ends(stored.tokens.grant, by: grant)
        {
            world.coverage.count(.revocationOvertaken)
        }
    }

    /// The service carried out a request, or may have done so, and the sender does not know the outcome.
    func gaveUp(_ call: Call) {
        if let account = call.redeemed { excused.insert(account.tokens) }
    }

    /// The service carried out a request, but the sender does not receive the response.
    func lost(_ turn: Turn) {
        switch turn.truth {
        case .renewed(let tokens, _): if world.service.isRotating { excuse(tokens.grant) }
        case .issued(let tokens): excuse(tokens.grant)
        case .refused, .notRenewed, nil: break
        }
    }

    func delivered(_ turn: Turn) {
        let process = turn.process
        if turn.call.isExchange, turn.operation?.outcome != nil { world.coverage.count(.lateResponse) }
        switch turn.truth {
        case .renewed(let tokens, let spent):
            process.unwritten.append((tokens, spent, turn.operation?.lease))
            if world.leaseHolder?.process === process { world.leaseHolder?.failureCount = 0 }
        case .issued(let tokens): turn.operation?.obtained = tokens
        case .refused(let tokens):
            if turn.call.redeemed != nil {
                process.refused[tokens] = .definiteRefusalOfRefresh
            } else {
                process.refused[tokens] = .definiteRefusalOfCheck
            }
        case .notRenewed, nil: break
        }
        if turn.call.isRequest { turn.operation?.isNotRenewed = turn.isNotRenewed }
        if let operation = turn.operation, case .success(.account)? = turn.answer {
            operation.mustNotStore = operation.isCancelled || process.isSignalled
            if operation.mustNotStore { world.coverage.count(.signInInterrupted) }
        }
        if case .read(.account) = turn.call, let tokens = turn.tokensRead, let operation = turn.operation,
            !operation.isLeasing
        {
            operation.read.insert(tokens)
        }
        // Only a task that follows changes reads outside of an operation.
        if case .read = turn.call, turn.operation == nil, case .failure? = turn.answer {
            process.hasMissedChange = true
        }
        if case .renewed = turn.truth { turn.operation?.lease?.phase = .beforeCommit }
        if case .verify(let account) = turn.call, case .success? = turn.answer {
            world.coverage.count(.verified)
            if withheld[account.token] == .otherUser {
                withheld[account.token] = nil
                world.coverage.count(.withheldConfirmed)
            }
        }
    }

    /// A refresh has ended.
    func ended(_ lease: ProcessLease) {
        let process = lease.process
        let unwritten = process.unwritten.filter { $0.lease === lease }
        process.unwritten.removeAll { $0.lease === lease }
        for (tokens, spent, _) in unwritten {
            let stored = versions.last!
            if lease.failureCount >= 2 || lease.isLost || stored.isUnreadable || world.weather.canLockBeLost {
                excused.insert(spent)
                excuse(tokens.grant)
                process.unsaved.insert(tokens)
                if lease.isLost { process.unsavedLate.insert(tokens) }
                world.coverage.count(.unsaved)
                if process.store?.account?.tokens == tokens, isStored(tokens.grant), !world.weather.canLockBeLost {
                    // After the end of its sign-in, the process puts them into the queue.
                    excusedGrants.remove(tokens.grant)
                }
            } else if stored.account?.tokens == spent || process.unsaved.contains(spent) && isStored(tokens.grant) {
                violate(
                    .refreshTokenIsSentOnce,
                    "the new tokens a\(tokens.text) were not saved, though the disk took writes")
            } else if let account = stored.account, !world.weather.supportsPerGrantRevocation,
                world.service.isSameUser(account.tokens.grant, tokens.grant)
            {
                excuse(tokens.grant)
            }
        }
    }

    /// - Parameter isKilled: Whether the process could not finish its exchanges.
    func died(_ process: SimulatedProcess, with turns: [Turn], isKilled: Bool) {
        for tokens in process.unsaved { excuse(tokens.grant) }
        guard isKilled else { return }
        for (_, spent, _) in process.unwritten { excused.insert(spent) }
        for turn in turns {
            if case .renewed(_, let spent) = turn.truth { excused.insert(spent) }
        }
        excusedGrants.formUnion(process.inHand)
    }

    /// Checks that a record exists if the stored refresh token is spent. Called whenever the lock is free.
    func checkAtRest() {
        guard world.lockHolder == nil, !world.weather.canLockBeLost, let stored = versions.last!.account,
            world.service.isSpent(stored.tokens), !hasRecord
        else { return }
        violate(.refreshTokenIsSentOnce, "\(stored.token) is stored, its refresh token is spent, and no record says so")
    }

    /// Whether there is a record that the refresh token may be spent, and not only that a refresh failed.
    private var hasRecord: Bool {
        struct Record: Decodable {
            var date: Date?
        }
        guard let bytes = world.entries[.refreshRecord]?.bytes else { return false }
        return (try? PropertyListDecoder().decode(Record.self, from: Data(bytes)))?.date != nil
    }
}
