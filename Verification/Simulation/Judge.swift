import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Observes the world, and reports violated rules. The judge checks the actions of the disk and the service, not the reports of AccountKit.
///
/// @unchecked Sendable: as for `SimulatedProcess`.
final class Judge: @unchecked Sendable {
    /// All versions of `Account.plist`.
    enum Version {
        case absent
        case present(Account)
        case unreadable

        var account: Account? { if case .present(let account) = self { account } else { nil } }
        var isAbsent: Bool { if case .absent = self { true } else { false } }
    }

    unowned var world: World!
    var versions: [Version] = [.absent]
    private(set) var violation: Violation?

    /// Spent refresh tokens whose successors may be lost: the response was lost, the process died, or the disk failed.
    var excused: Set<Tokens> = []

    /// Sign-ins that may stay valid at the service although no process has them: their newest tokens are lost, nothing could be written, or
    /// ending them would end a stored sign-in.
    private var excusedGrants: Set<Int> = []

    /// The process and the operation that obtained each access token.
    private var issued: [String: (process: SimulatedProcess, operation: Operation?)] = [:]

    /// Whether the holder of the lock could not read the revocation queue. Refreshes continue, so the revocation of a failed sign-out may
    /// outlive its tokens.
    var hasMissedRevocation = false

    /// Whether a disk operation of a process has failed.
    private(set) var wasHindered = false

    /// Whether a process has ended during the schedule.
    private var hasCrash = false

    /// The sign-ins that must have ended at the service at the end, and the sign-ins whose revocation the service received.
    private(set) var mustEnd: Set<Int> = []
    private var told: Set<Int> = []

    /// The queue of revocations.
    private var queue: [ArchiveEntry: QueuedTokens] = [:]

    /// The number of refused revocations.
    private var refusals: [Tokens: Int] = [:]

    /// The `invalid_client` responses to requests for a client without a user, since the session last stored new tokens.
    private struct Rejections {
        var count: Int
        var earliest: Date
        var latest: Date
    }

    /// By sign-in.
    private var rejections: [Int: Rejections] = [:]

    /// Sign-ins that were replaced by others.
    private var replaced: Set<Int> = []

    private lazy var reader = AccountStore(
        storage: DiskReader(world: world), appIdentifier: "simulation", keySources: [SimulatedKey()])

    func violate(_ rule: Rule, _ text: String) {
        if violation == nil { violation = Violation(rule: rule, text: text) }
        world.note("VIOLATION of \(rule.rawValue) (\(rule.text)): \(text)")
    }

    func readDisk() -> Version {
        guard world.entries[.account] != nil else { return .absent }
        let box = Box()
        Task.detached { [reader] in box.account = await reader.load().account }
        world.runJobs()
        return box.account.map { .present($0) } ?? .unreadable
    }

    /// Reads an entry of the revocation queue.
    private func readQueue(_ entry: ArchiveEntry) -> QueuedTokens? {
        guard let stored = world.entries[entry] else { return nil }
        let box = Box()
        let reader = AccountStore(
            storage: QueueReader(entry: entry, stored: stored), appIdentifier: "simulation",
            keySources: [SimulatedKey()])
        Task.detached {
            _ = await reader.deliverRevocations(
                with: {
                    box.account = $0
                    return nil
                }, ignoringPauses: true)
            box.revocation = try? await reader.pendingRevocations().first
        }
        world.runJobs()
        guard let account = box.account, let revocation = box.revocation else { return nil }
        return QueuedTokens(account: account, revocation: revocation)
    }

    // MARK: Changes of the disk

    func committed(_ turn: Turn) {
        let old = versions.last!
        versions.append(readDisk())
        guard let new = versions.last!.account else {
            violate(.memoryAndDiskAgree, "\(turn.process.name) wrote an unreadable entry")
            return
        }
        if world.service.isNewest(new.tokens) {
            turn.process.inHand.remove(new.tokens.grant)
        }
        // A task that follows changes has no operation, and saves unsaved tokens.
        let operation = turn.operation
        let name = operation.map { "\($0.kind)" } ?? "a look at a change"
        if let operation, operation.kind.isSignIn {
            signedIn(new, over: old.account, operation)
            return
        }
        guard let stored = old.account else {
            violate(.nobodyElsesSessionIsTouched, "\(name) brought back \(new.token)")
            return
        }
        guard new.isSameUser(as: stored), new.tokens.grant == stored.tokens.grant,
            new.tokens.access >= stored.tokens.access
        else {
            violate(.nobodyElsesSessionIsTouched, "\(name) put \(new.token) in place of \(stored.token)")
            return
        }
        let change: Int64 = operation?.kind == .update ? 1 : 0
        let isTokenChange = new.tokens != stored.tokens
        if new.points != stored.points + change, !(isTokenChange && new.points == stored.points) {
            violate(.nobodyElsesSessionIsTouched, "\(name) made \(new.points) of \(stored.points) points")
        }
        let isNicknameKept = new.profile.nickname == stored.profile.nickname || operation?.kind == .updateProfile
        if new.username != stored.username || !isNicknameKept {
            violate(.nobodyElsesSessionIsTouched, "\(name) changed a name of \(stored.token)")
        }
        if [.update, .updateProfile].contains(operation?.kind) { world.coverage.count(.update) }
        if isTokenChange {
            // After a crash or a failure of the disk, the record of a rejection may be left.
            if !wasHindered, !hasCrash { rejections[new.tokens.grant] = nil }
            world.coverage.count(turn.process.unsaved.contains(new.tokens) ? .unsavedSaved : .refresh)
            if operation?.lease?.isLost == true || turn.process.unsavedLate.contains(new.tokens) {
                world.coverage.count(.lateTokensSaved)
            }
        }
        if isTokenChange, operation?.outcome != nil { world.coverage.count(.lateResponseStored) }
        if !isTokenChange, isRefreshing(new.tokens.grant) { world.coverage.count(.changeDuringRefresh) }
        turn.process.unwritten.removeAll { $0.tokens == new.tokens }
    }

    private func signedIn(_ new: Account, over old: Account?, _ operation: Operation) {
        if new.tokens != operation.obtained {
            violate(.nobodyElsesSessionIsTouched, "a sign-in saved \(new.token), which it did not get")
        }
        if operation.mustNotStore {
            violate(.nobodyElsesSessionIsTouched, "a sign-in that was interrupted saved \(new.token)")
        }
        operation.hasStored = true
        world.coverage.count(operation.kind == .signIn ? .signIn : .signInByDevice)
        // Unsaved tokens are not revoked if other tokens of the same user are stored: both may belong to the same sign-in.
        for tokens in world.processes.flatMap(\.unsaved) where world.service.isSameUser(new.tokens.grant, tokens.grant)
        {
            excuse(tokens.grant)
        }
        guard let old else { return }
        replaced.insert(old.tokens.grant)
        if !old.isSameUser(as: new) { world.coverage.count(.signInOverOther) }
        if isRefreshing(old.tokens.grant) { world.coverage.count(.signInDuringRefresh) }
    }

    private func isStored(_ grant: Int) -> Bool { versions.last!.account?.tokens.grant == grant }

    /// Whether a refresh is in progress.
    private func isRefreshing(_ grant: Int) -> Bool {
        world.turns.contains { turn in
            turn.call.redeemed?.tokens.grant == grant
        }
    }

    func removed(_ turn: Turn) {
        let old = versions.last!
        versions.append(.absent)
        guard let stored = old.account else {
            violate(.onlyUserOrRejectionClears, "an archive that cannot be read was removed")
            return
        }
        if let operation = turn.operation, operation.kind.isSignOut {
            world.coverage.count(.signOut)
            if isRefreshing(stored.tokens.grant) { world.coverage.count(.signOutDuringRefresh) }
            if operation.kind == .signOut { mustEnd.insert(stored.tokens.grant) } else { excuse(stored.tokens.grant) }
            return
        }
        if stored.credentials.machine != nil {
            let rejections = rejections[stored.tokens.grant]
            let isDefinite =
                rejections.map { $0.count > 1 && $0.latest.timeIntervalSince($0.earliest) >= 300 } ?? false
            guard isDefinite else {
                violate(
                    .onlyUserOrRejectionClears,
                    "\(stored.token) was cleared, although the service had not rejected the client for five minutes")
                return
            }
            // The service may accept the client again.
            excuse(stored.tokens.grant)
            world.coverage.count(.clientRejectedTwice)
            return
        }
        // The service may have rejected unsaved tokens of the process instead of the stored tokens.
        let candidates = turn.process.unsaved.filter { $0.grant == stored.tokens.grant } + [stored.tokens]
        guard let refused = candidates.first(where: turn.process.refused.keys.contains) else {
            violate(
                .onlyUserOrRejectionClears,
                "\(stored.token) was cleared, although the service had not ended it"
            )
            return
        }
        world.coverage.count(turn.process.refused[refused]!)
    }

    /// An archive was moved aside, or back.
    func moved(_ turn: Turn) {
        if case .quarantine(.account, _) = turn.call {
            if let stored = versions.last!.account, !world.weather.canLockBeLost {
                violate(.nobodyElsesSessionIsTouched, "\(stored.token) was moved aside, although it can be read")
            }
            let isSignOut = turn.operation?.kind.isSignOut ?? false
            world.coverage.count(isSignOut ? .signOutOfUnreadable : .signInOverUnreadable)
        }
        versions.append(readDisk())
    }

    /// Another program wrote to the disk.
    func damaged() {
        if let stored = versions.last!.account { excuse(stored.tokens.grant) }
        versions.append(.unreadable)
    }

    /// A process has read the account under the lock.
    func looked(_ transaction: ProcessTransaction) {
        if versions.last!.isUnreadable { transaction.lease?.failureCount += 2 }
        guard let operation = transaction.operation else { return }
        operation.lockedVersion = versions.count - 1
        // A token for another API may be obtained with any stored tokens, and a refresh continues with a refresh token that came with one.
        if transaction.lease != nil, let tokens = versions.last!.account?.tokens {
            let isSameAccess = operation.read.contains { $0.grant == tokens.grant && $0.access == tokens.access }
            if operation.kind == .derivedToken || isSameAccess { operation.read.insert(tokens) }
        }
        // A check that finds different tokens from those in its request begins again with them.
        if transaction.lease == nil, [.check, .checkIfOld].contains(operation.kind),
            let tokens = versions.last!.account?.tokens
        {
            operation.read.insert(tokens)
        }
        if operation.kind.isSignIn || operation.kind.isSignOut, let stored = versions.last!.account {
            operation.responsible.insert(stored.tokens.grant)
        }
    }

    // MARK: The revocation queue

    func queueChanged(_ entry: ArchiveEntry, _ turn: Turn) {
        let old = queue[entry]
        queue[entry] = readQueue(entry)
        if let new = queue[entry] {
            // Entries with older tokens may be withdrawn again.
            if world.service.isNewest(new.tokens) {
                turn.process.inHand.remove(new.tokens.grant)
            }
            if old?.tokens == new.tokens, old?.waitsForSignOut == new.waitsForSignOut {
                world.coverage.count(.revocationPaused)
            }
            if new.waitsForSignOut { world.coverage.count(.revocationWaits) }
            if let old, old.tokens == new.tokens, old.waitsForSignOut, !new.waitsForSignOut {
                // A sign-in releases entries before it replaces the account. If its process then dies, the user is still signed in.
                if !isStored(old.tokens.grant) { mustEnd.insert(old.tokens.grant) }
                world.coverage.count(.revocationReleased)
            }
        }
        guard let old, old.tokens != queue[entry]?.tokens else { return }
        let grant = old.tokens.grant
        if queue[entry] != nil {
            // The queue was full.
            excuse(grant)
        } else if world.date.timeIntervalSince(old.revocation.date) > 30 * 24 * 3600 {
            excuse(grant)
        }
    }

    /// The service received a revocation, and processed it.
    func told(_ tokens: Tokens, _ operation: Operation?) {
        told.insert(tokens.grant)
        if !world.service.isAlive(tokens.grant) {
            for process in world.processes { process.inHand.remove(tokens.grant) }
        }
        world.coverage.count(.revoked)
        if replaced.contains(tokens.grant) { world.coverage.count(.replacedRevoked) }
        if world.processes.contains(where: { $0.unsaved.contains(tokens) }) { world.coverage.count(.unsavedRevoked) }
        guard let operation else { return }
        if operation.kind.isRefreshing { world.coverage.count(.lateTokensRevoked) }
        if operation.obtained == tokens { world.coverage.count(.unstoredRevoked) }
    }

    /// The service refused a revocation.
    func answered(_ failure: AuthorityError, toRevocationOf tokens: Tokens) {
        switch failure {
        case .bearerChallenge, .rejected, .oauthError("unsupported_token_type", _):
            refusals[tokens, default: 0] += 1
            if refusals[tokens]! >= 3 {
                excuse(tokens.grant)
                world.coverage.count(.revocationGivenUp)
            }
        default: break
        }
    }

    /// The service has rejected the client of a session without a user.
    func rejectedClient(of account: Account) {
        guard account.credentials.machine != nil else { return }
        let known = rejections[account.tokens.grant]
        rejections[account.tokens.grant] = Rejections(
            count: (known?.count ?? 0) + 1, earliest: min(known?.earliest ?? world.date, world.date),
            latest: max(known?.latest ?? world.date, world.date))
    }

    /// The clock was set. The time since a rejection may be measured by either time.
    func clockJumped() {
        for grant in rejections.keys {
            rejections[grant]!.earliest = min(rejections[grant]!.earliest, world.date)
            rejections[grant]!.latest = max(rejections[grant]!.latest, world.date)
        }
    }

    func excuse(_ grant: Int) { excusedGrants.insert(grant) }

    /// The disk failed during an operation, or did not respond.
    func hindered(_ operation: Operation?) {
        wasHindered = true
        guard let operation else { return }
        excusedGrants.formUnion(operation.responsible)
    }

    /// Whether an entry of the queue is kept until the user signs out.
    private func isWaiting(_ queued: QueuedTokens) -> Bool {
        if queued.waitsForSignOut { return true }
        guard let stored = versions.last!.account else { return false }
        return !world.weather.supportsPerGrantRevocation
            && (queued.account.id.isEmpty || world.service.isSameUser(stored.tokens.grant, queued.tokens.grant))
    }

    /// Checks that tokens are valid at the service only if a process or an archive has them.
    func checkWhatIsLeft() {
        // While the archive cannot be read, nothing is revoked.
        guard !world.weather.canLockBeLost, !versions.last!.isUnreadable else { return }
        if let left = queue.values.filter({ !isWaiting($0) }).min(by: { $0.token < $1.token }) {
            violate(.signOutReachesTheService, "in the end \(left.token) is still in the queue of revocations")
        }
        guard [.single, .all].contains(world.service.revoking) else { return }
        let waiting = Set(queue.values.filter(isWaiting).map(\.tokens.grant))
        for grant in mustEnd.sorted() where !told.contains(grant) && !excusedGrants.contains(grant) {
            guard world.service.isAlive(grant), !waiting.contains(grant) else { continue }
            violate(.signOutReachesTheService, "in the end the service does not know that a\(grant) is signed out")
        }
        for grant in world.service.grants.indices.dropFirst() where world.service.isAlive(grant) {
            guard versions.last!.account?.tokens.grant != grant, !excusedGrants.contains(grant),
                !waiting.contains(grant)
            else { continue }
            violate(.nothingIsLeftBehind, "in the end a\(grant) is valid, and no process has it")
        }
    }

    // MARK: The service

    /// A process is about to make a call.
    func asked(_ call: Call) {
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
        case .refused, nil: break
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
        case nil: break
        }
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
        if case .verify = turn.call, case .success? = turn.answer { world.coverage.count(.verified) }
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
        hasCrash = true
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
}

extension Judge {
    /// Whether there is a record that the refresh token may be spent, and not only that a refresh failed.
    private var hasRecord: Bool {
        guard let bytes = world.entries[.refreshRecord]?.bytes else { return false }
        return String(decoding: bytes, as: UTF8.self).contains("<key>date</key>")
    }
}

extension Account {
    fileprivate var points: Int64 { if case .integer(let points)? = profile["points"] { points } else { 0 } }
}
