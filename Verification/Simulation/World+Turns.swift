import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Carries out the calls of processes.
extension World {
    /// Whether the call waits for a lock.
    func isBlocked(_ turn: Turn) -> Bool {
        if turn.process.isStopped, turn.answer != nil || turn.isUnsent { return true }
        guard turn.answer == nil else { return false }
        let isHeld =
            switch turn.call {
            case .begin: lockHolder != nil && mistake != .locksNobodyOut
            case .lease(let isPatient): leaseHolder != nil && isPatient && mistake != .leasesToAll
            default: false
            }
        return isHeld && !cancelledTurns.contains(turn.number)
    }

    /// Whether a request or its response is still in transit.
    func isLate(_ turn: Turn) -> Bool { turn.dueStep > step && !isCalm && !cancelledTurns.contains(turn.number) }

    /// The earliest step at which a message that is sent now can arrive.
    func dueStep() -> Int {
        !isCalm && happens(weather.lateReplies) ? step + Int.random(in: 5...80, using: &random) : 0
    }

    /// Carries out the call, or passes its result to the process.
    func take(_ turn: Turn) {
        guard let answer = turn.answer else {
            perform(turn)
            return
        }
        turns.removeAll { $0 === turn }
        if turn.call.isWrite || turn.call.isRequest, turn.process.isAlive {
            note("\(turn.process.name): gets the result")
        }
        judge.delivered(turn)
        turn.continuation.resume(returning: answer)
        runJobs()
        judge.settle()
    }

    private func perform(_ turn: Turn) {
        let answer = Result { try turn.call.isRequest ? request(turn) : access(turn) }
        turn.answer = answer
        if turn.call.isRequest { turn.dueStep = dueStep() }
        if case .failure(let error) = answer {
            note("\(turn.process.name): \(turn.call.text): \(error)")
            if turn.call.isWrite { failed(turn, error) }
        } else {
            note("\(turn.process.name): \(turn.call.text)")
            if weather.isFenced { carriedOut(turn) }
        }
    }

    private func failed(_ turn: Turn, _ error: any Error) {
        // Count a lost lock once: the process acquires it again.
        if !isHeld(turn), (error as? AccountError)?.code == .conflict {
            // A refresh acquires it again. Other operations revoke the tokens once, without the queue.
            if case .replace(let entry, _, _) = turn.call, entry.isRevocation, turn.transaction?.lease == nil {
                judge.hindered(turn.operation)
            }
            if turn.transaction?.isRefused == true { return }
            turn.transaction?.isRefused = true
        }
        switch turn.call {
        case .replace(.account, _, _), .remove(.account, _): turn.transaction?.lease?.failureCount += 1
        case .remove(let entry, _) where entry.isRevocation: judge.hasMissedRevocation = true
        default: break
        }
    }

    /// A wait for a lock times out.
    func reachTimeout(_ turn: Turn) {
        note("\(turn.process.name): waited too long for the lock")
        coverage.count(.busy)
        if case .begin = turn.call { turn.lease?.failureCount += 2 }
        judge.hindered(turn.operation)
        turn.answer = .failure(AccountError(.busy, "simulated"))
    }

    // MARK: The disk

    private func access(_ turn: Turn) throws -> Answer {
        switch turn.call {
        case .begin:
            if cancelledTurns.contains(turn.number), lockHolder != nil { throw CancellationError() }
            if let error = unreachable(turn.process) ?? failure() {
                turn.lease?.failureCount += 2
                judge.hindered(turn.operation)
                throw error
            }
            lockHolder = turn.transaction
            turn.transaction?.lastKeepAlive = elapsed
            turn.operation?.transactionCount += 1
            return .done
        case .lease(let isPatient):
            if cancelledTurns.contains(turn.number), leaseHolder != nil { throw CancellationError() }
            if leaseHolder != nil, !isPatient { throw AccountError(.busy, "simulated") }
            if let error = unreachable(turn.process) ?? failure() {
                // The operation has tokens to save, and has lost its lease.
                if turn.operation?.lease?.isLost == true { judge.hindered(turn.operation) }
                throw error
            }
            leaseHolder = turn.lease
            turn.lease?.lastKeepAlive = elapsed
            if turn.hasWaited { coverage.count(.leaseWaitedFor) }
            return .done
        case .sleep:
            if cancelledTurns.contains(turn.number) { throw CancellationError() }
            return .done
        default: break
        }
        if let error = failure() {
            judge.hindered(turn.operation)
            throw error
        }
        if case .read(let entry) = turn.call {
            if turn.process.isCutOff { return .entry(try readReplica(entry, turn)) }
            turn.tokensRead = judge.versions.last!.account?.tokens
            return .entry(readUnlocked(entry))
        }
        if let error = unreachable(turn.process) {
            // The sender cannot know whether the change was carried out.
            if turn.call.isWrite, happens(0.3), (try? change(turn)) != nil {
                coverage.count(.unknownCommit)
                turn.operation?.hasStored = false
            }
            judge.hindered(turn.operation)
            throw error
        }
        return try change(turn)
    }

    func change(_ turn: Turn) throws -> Answer {
        try checkFence(turn)
        let answer = try changeUnfenced(turn)
        turn.transaction?.lockRevision += 1
        return answer
    }

    func changeUnfenced(_ turn: Turn) throws -> Answer {
        switch turn.call {
        case .replace(let entry, let bytes, let revision):
            try compare(entry, revision)
            let stored = StoredEntry(bytes: bytes, revision: nextRevision())
            if mistake == .losesRecord, entry == .refreshRecord { return receipt(stored.revision) }
            if mistake == .forgetsWrites, entry == .account, happens(0.1) { return receipt(stored.revision) }
            put(entry, stored)
            if entry == .account { judge.committed(turn) }
            if entry.isRevocation { judge.queueChanged(entry, turn) }
            return receipt(stored.revision)
        case .remove(let entry, let revision):
            try compare(entry, revision)
            put(entry, nil)
            if entry == .account { judge.removed(turn) }
            if entry.isRevocation { judge.queueChanged(entry, turn) }
            return receipt(revision)
        case .quarantine(let entry, let label):
            let place = ArchiveEntry(rawValue: "\(entry.rawValue).\(label)")
            put(place, entries[entry])
            put(entry, nil)
            judge.moved(turn)
            return .place(place.rawValue)
        case .restore(let entry, let place):
            guard entries[entry] == nil else { return .done }
            put(entry, entries[ArchiveEntry(rawValue: place)])
            put(ArchiveEntry(rawValue: place), nil)
            coverage.count(.restore)
            judge.moved(turn)
            return .done
        default: return .done
        }
    }

    private func receipt(_ revision: ArchiveRevision) -> Answer {
        let isKnown = isCalm || !happens(weather.diskFaults)
        if !isKnown { coverage.count(.unknownDurability) }
        return .receipt(
            ArchiveReceipt(revision: revision, durability: isKnown ? .durable : .unknown(reason: "simulated")))
    }

    // MARK: The service and the network

    private func request(_ turn: Turn) throws -> Answer {
        turn.leave()
        if turn.isDisallowed { throw AuthorityError.leaseLost }
        if cancelledTurns.contains(turn.number) {
            if happens(0.5) { lateRequests.append(turn.call) }
            throw CancellationError()
        }
        if !isCalm, happens(weather.troubles) {
            coverage.count(.trouble)
            if happens(0.3) {
                coverage.count(.lostResponse)
                judge.gaveUp(turn.call)
                lateRequests.append(turn.call)
                throw AuthorityError.noResponse(.timeout)
            }
            let signal = trouble(turn.call)
            if case .refresh = turn.call, case .oauthError("invalid_client", _) = signal {
                coverage.count(.unknownClient)
            }
            if case .revoke(let account) = turn.call { judge.answered(signal, toRevocationOf: account.tokens) }
            throw signal
        }
        let answer = Result { try serve(turn) }
        guard !isCalm, happens(weather.lostReplies) else { return try answer.get() }
        coverage.count(.lostResponse)
        judge.gaveUp(turn.call)
        judge.lost(turn)
        turn.truth = nil
        throw Self.unclear.randomElement(using: &random)!
    }

    /// The service processes a request.
    private func serve(_ turn: Turn) throws -> Answer {
        switch turn.call {
        case .connect: return .done
        case .verify(let account):
            if let identity = service.identity(account.tokens) { return .identity(identity) }
            turn.truth = .refused(account.tokens)
            if service.grants[account.tokens.grant].hasEnded, happens(0.2) { throw AuthorityError.rejected("closed") }
            throw AuthorityError.unauthorized(error: "invalid_token")
        case .refresh(let account):
            judge.asks(turn, for: account.tokens)
            judge.redeems(account.tokens)
            let grant = service.grants[account.tokens.grant]
            if let refusal = grant.refusal, !grant.hasEnded {
                turn.truth = .notRenewed(account.tokens)
                throw refusal
            }
            let oddity = oddity(of: service.oddities())
            if let new = service.redeem(account, oddity, at: date) {
                var renewed = account
                renewed.credentials = account.credentials.renewed(by: new)
                turn.truth = .renewed(renewed.tokens, from: account.tokens)
                if new.lacksAccessToken {
                    judge.derived(renewed.tokens, to: turn)
                } else {
                    judge.issued(renewed.tokens, to: turn)
                }
                judge.noteOddity(oddity, of: new, renewed.tokens)
                return .credentials(new)
            }
            turn.truth = .refused(account.tokens)
            // No response ends the session of a client.
            let isAboutGrant = account.credentials.machine == nil || happens(0.5)
            throw AuthorityError.oauthError(isAboutGrant ? "invalid_grant" : "invalid_client")
        case .derive(let account, let derivation):
            let byRefresh = derivation == .refresh
            if byRefresh {
                judge.asks(turn, for: account.tokens)
                judge.redeems(account.tokens)
            }
            let oddity = oddity(of: service.isRotating ? service.oddities(byRefresh: byRefresh) : [])
            if let new = service.derive(account, byRefresh: byRefresh, oddity, at: date) {
                coverage.count(.derivation)
                var tokens = account.tokens
                guard let number = new.refreshNumber else { return .credentials(new) }
                tokens.refresh = number
                turn.truth = .renewed(tokens, from: account.tokens)
                judge.derived(tokens, to: turn)
                judge.noteOddity(oddity, of: new, tokens)
                return .credentials(new)
            }
            guard byRefresh else { throw AuthorityError.oauthError("invalid_request") }
            turn.truth = .refused(account.tokens)
            throw AuthorityError.oauthError("invalid_grant")
        case .revoke(let account):
            judge.revokes(account, turn.operation)
            switch service.revoking {
            case .refuses:
                let signal = AuthorityError.oauthError("unsupported_token_type")
                judge.answered(signal, toRevocationOf: account.tokens)
                throw signal
            case .notSupported: return .revocation(.notSupported)
            case .single, .all:
                if mistake != .dropsRevocations {
                    service.revoke(account.tokens)
                    judge.told(account.tokens, turn.operation)
                }
                return .revocation(.done)
            }
        case .signIn(let user, let client):
            let new = issue(user, client, turn)
            return .account(service.account(with: new, at: date))
        case .beginDevice: return .done
        case .poll(let user, let client):
            if !isCalm, happens(0.3) { throw AuthorityError.oauthError("authorization_pending") }
            return .credentials(issue(user, client, turn))
        case .identify(let credentials):
            // Return the account even if the sign-in has ended since: the poll was sent before.
            return .account(service.account(with: credentials, at: date))
        case .updateProfile(let account):
            guard let identity = service.identity(account.tokens) else {
                throw AuthorityError.unauthorized(error: "invalid_token")
            }
            return .identity(identity)
        case .callAPI(let account):
            // The service invalidates access tokens at any time, for example in a restart. An API need not say why it refuses a token.
            guard service.identity(account.tokens) == nil else { return .done }
            throw Self.refusals.randomElement(using: &random)!
        default: preconditionFailure("\(turn.call) is not a request")
        }
    }

    private func oddity(of oddities: [Service.Oddity]) -> Service.Oddity? {
        guard !isCalm, !oddities.isEmpty, happens(weather.oddAnswers) else { return nil }
        return oddities.randomElement(using: &random)
    }

    private func issue(_ user: String, _ client: String, _ turn: Turn) -> Credentials {
        let new = service.issue(user, client, at: date)
        turn.truth = .issued(new.tokens)
        judge.issued(new.tokens, to: turn)
        return new
    }

    /// A request arrives after its sender has given up.
    func arriveLate(_ call: Call) {
        note("the service gets a request whose sender has given up: \(call.text)")
        coverage.count(.lateRequest)
        switch call {
        case .refresh(let account):
            judge.gaveUp(call)
            judge.redeems(account.tokens)
            if service.isRotating { judge.excuse(account.tokens.grant) }
            _ = service.redeem(account, at: date)
        case .derive(let account, .refresh):
            judge.gaveUp(call)
            judge.redeems(account.tokens)
            if service.isRotating { judge.excuse(account.tokens.grant) }
            _ = service.derive(account, byRefresh: true, at: date)
        case .revoke(let account):
            judge.revokes(account, nil)
            if [.single, .all].contains(service.revoking) {
                service.revoke(account.tokens)
                judge.told(account.tokens, nil)
            }
        case .signIn(let user, let client), .poll(let user, let client):
            judge.excuse(service.issue(user, client, at: date).tokens.grant)
        default: break
        }
    }

    private func trouble(_ call: Call) -> AuthorityError {
        var failures = Self.certain + Self.unclear
        switch call {
        // This failure is definite without a refresh token; otherwise it is a reason to refresh.
        case .verify(let account) where account.credentials.refreshToken != nil:
            failures.append(.unauthorized(error: "invalid_token"))
            failures.append(.otherUser(id: "somebody else"))
        case .signIn, .poll:
            failures += [.oauthError("access_denied"), .oauthError("invalid_grant"), .signInRefused("no")]
        // A refused request does not end the session, even if the service reports that it rejects the refresh token.
        case .derive(_, .refresh):
            failures += [.oauthError("invalid_target"), .oauthError("invalid_scope")]
            failures += [.oauthError("invalid_grant"), .oauthError("invalid_grant"), .rejected("no consent")]
        case .derive: failures += [.oauthError("invalid_target"), .oauthError("invalid_grant"), .rejected("closed")]
        case .refresh: failures += [.unauthorized(error: "invalid_token"), .oauthError("expired_token")]
        // A valid token is refused, too.
        case .callAPI: failures += Self.refusals
        // A refusal may be temporary, so AccountKit asks three times.
        case .revoke:
            failures.removeAll { SessionDecision.afterRevocation($0) != .tryLater }
            failures.append(.rejected("no"))
        default: break
        }
        return failures.randomElement(using: &random)!
    }

    /// Failures that mean that the service did nothing.
    private static let certain: [AuthorityError] = [
        .noResponse(.unknownHost), .noResponse(.refused), .noResponse(.proxy), .untrustedTLS("expired"),
        .proxyAuthenticationRequired, .unavailable(status: 429, retryAfter: .seconds(5)), .oauthError("invalid_client"),
        .oauthError("invalid_request"), .misconfigured("simulated"),
    ]

    /// The forms in which an API refuses a token.
    private static let refusals: [AuthorityError] = [
        .unauthorized(error: nil), .unauthorized(error: "invalid_token"),
        .unauthorized(error: "invalid_request"), .unauthorized(error: "expired_token"),
    ]

    /// Failures that leave open what the service did.
    private static let unclear: [AuthorityError] = [
        .noResponse(.timeout), .noResponse(.reset), .noResponse(.truncated), .noResponse(.garbled),
        .noResponse(.unreachable),
        .unavailable(status: 502, retryAfter: nil), .unavailable(status: 503, retryAfter: .seconds(5)),
        .oauthError("server_error"), .oauthError("temporarily_unavailable"), .intercepted("a web page"),
        .unclear("no JSON"), .unauthorized(error: nil), .forbidden(error: nil),
    ]
}

extension ArchiveEntry {
    var isRevocation: Bool { rawValue.hasPrefix("Revocation-") }
}
