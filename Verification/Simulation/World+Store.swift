import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The progress of a refresh whose process is stopped.
enum RefreshPhase: Sendable {
    case beforeIntent, beforeSending, beforeFirstByte, afterSending, beforeCommit, afterCommit

    /// The event if the process was woken before its lease expired.
    var stopped: Occurrence {
        switch self {
        case .beforeIntent: .stoppedBeforeIntent
        case .beforeSending: .stoppedBeforeSending
        case .beforeFirstByte: .stoppedBeforeFirstByte
        case .afterSending: .stoppedAfterSending
        case .beforeCommit: .stoppedBeforeCommit
        case .afterCommit: .stoppedAfterCommit
        }
    }

    /// The event if its lease expired first.
    var lapsed: Occurrence {
        switch self {
        case .beforeIntent: .lapsedBeforeIntent
        case .beforeSending: .lapsedBeforeSending
        case .beforeFirstByte: .lapsedBeforeFirstByte
        case .afterSending: .lapsedAfterSending
        case .beforeCommit: .lapsedBeforeCommit
        case .afterCommit: .lapsedAfterCommit
        }
    }
}

/// The copy of the account that a machine last read or wrote.
struct Replica {
    let entry: StoredEntry
    let version: Int
    let date: Date
}

/// A store like etcd: locks expire unless they are kept alive, and a change compares whether the sender still holds them.
extension World {
    private static let lockTime = 10.0

    /// The longest time of an exchange, in seconds.
    private static let exchangeTime = 60.0

    /// A short time until the intent is written, then longer than an exchange.
    private func leaseTime(_ lease: ProcessLease) -> Double {
        if lease.phase == .beforeIntent { return 15 }
        return mistake == .leaseIsNotKeptAlive ? 5 : Self.exchangeTime + 15
    }

    /// Whether the lease lasts for this time, by the clock of its holder.
    func lasts(_ lease: ProcessLease, _ duration: Duration) -> Bool {
        guard weather.isFenced, mistake != .sendsUnderLostLease, mistake != .leaseIsNotKeptAlive else { return true }
        let lasts = timeLeft(lease) >= Double(duration.components.seconds)
        if !lasts { coverage.count(.notSent) }
        return lasts
    }

    /// Whether the lease still lasts for this time, immediately before the first byte of a token is sent.
    func isHeld(_ lease: ProcessLease, _ duration: Duration) -> Bool {
        guard weather.isFenced else { return true }
        guard ![.sendsUnderLostLease, .leaseIsNotKeptAlive, .sendsAfterStop].contains(mistake) else { return true }
        let isHeld = timeLeft(lease) >= Double(duration.components.seconds)
        if !isHeld { coverage.count(.lapsedAtFirstByte) }
        return isHeld
    }

    private func timeLeft(_ lease: ProcessLease) -> Double { lease.lastKeepAlive + leaseTime(lease) - elapsed }

    func unreachable(_ process: SimulatedProcess) -> AccountError? {
        guard process.isCutOff else { return nil }
        coverage.count(.storeUnreachable)
        return AccountError(.storeUnreachable, "simulated")
    }

    // MARK: Changes

    /// Whether the sender of a change still holds its locks.
    func isHeld(_ turn: Turn) -> Bool {
        guard weather.isFenced, let transaction = turn.transaction else { return true }
        let isNewest = transaction.lockRevision == turn.lockRevision || mistake == .commitsWithoutCompare
        return lockHolder === transaction && isNewest
            && (transaction.lease == nil || leaseHolder === transaction.lease)
    }

    func checkFence(_ turn: Turn) throws {
        guard !isHeld(turn), mistake != .commitsWithoutFence else { return }
        coverage.count(.fenceRefused)
        turn.process.refusedChangeCount += 1
        if isCurrent(turn) { coverage.count(.onlyFenceRefused) }
        throw AccountError(.conflict, "the lock was lost")
    }

    /// Whether a storage that compares only revisions would accept the change.
    private func isCurrent(_ turn: Turn) -> Bool {
        switch turn.call {
        case .replace(let entry, _, let revision): entries[entry]?.revision == revision
        case .remove(let entry, let revision): entries[entry]?.revision == revision
        default: false
        }
    }

    func carriedOut(_ turn: Turn) {
        if turn.call.isWrite, happens(0.2) { lateCommits.append(turn) }
        if turn.call.isOfAccount { noteReplica(turn.process) }
        guard let lease = turn.transaction?.lease else { return }
        switch turn.call {
        case .replace(.refreshRecord, _, _) where lease.phase == .beforeIntent:
            lease.phase = .beforeSending
            lease.lastKeepAlive = elapsed
        case .replace(.account, _, _): lease.phase = .afterCommit
        default: break
        }
    }

    /// Carries out a commit that arrives late: its sender has died, or the commit arrives a second time.
    func commitLate() {
        let turn = lateCommits.remove(at: Int.random(in: 0..<lateCommits.count, using: &random))
        do {
            _ = try mistake == .lateWriterOverwrites ? changeUnfenced(turn) : change(turn)
            coverage.count(.lateCommit)
            note("a commit of \(turn.process.name) arrives late: \(turn.call.text)")
        } catch {
            coverage.count(.lateCommitRefused)
            note("a commit of \(turn.process.name) arrives too late: \(turn.call.text)")
        }
        judge.checkAtRest()
    }

    // MARK: The replica

    func noteReplica(_ process: SimulatedProcess) {
        replicas[process.machine] = entries[.account].map {
            Replica(entry: $0, version: judge.versions.count - 1, date: date)
        }
    }

    func readReplica(_ entry: ArchiveEntry, _ turn: Turn) throws -> StoredEntry? {
        if mistake == .takesUnreachableForSignedOut { return nil }
        guard entry == .account, let replica = replicas[turn.process.machine] else {
            throw unreachable(turn.process)!
        }
        coverage.count(.replicaRead)
        if replica.version < judge.versions.count - 1 { coverage.count(.oldReplicaRead) }
        turn.tokensRead = judge.versions[replica.version].account?.tokens
        if let operation = turn.operation {
            operation.firstVersion = min(operation.firstVersion, replica.version)
        }
        // A process that has just begun has read no newer version.
        if !turn.process.isKnown { turn.process.seenVersion = min(turn.process.seenVersion, replica.version) }
        return StoredEntry(bytes: replica.entry.bytes, revision: replica.entry.revision, asOf: replica.date)
    }

    // MARK: Time

    /// Advances the time. Locks that were not kept alive expire, and callers give up on exchanges that take too long.
    func pass(_ seconds: Double) {
        note("\(Int(seconds)) s pass")
        // Processes that are not stopped have sent their requests by now.
        for turn in turns where !turn.process.isStopped { turn.leave() }
        elapsed += seconds
        for turn in turns where turn.call.isExchange && !turn.process.isStopped { giveUp(turn) }
        if let lock = lockHolder {
            if isKeptAlive(lock.process, lock.hasEnded) {
                lock.lastKeepAlive = max(lock.lastKeepAlive, elapsed - randomDelay(Self.lockTime))
            } else if elapsed - lock.lastKeepAlive >= Self.lockTime {
                expire(lock)
            }
        }
        if let lease = leaseHolder {
            let isRenewed = mistake != .leaseIsNotKeptAlive || lease.phase == .beforeIntent
            if isRenewed, isKeptAlive(lease.process, lease.hasEnded) {
                lease.lastKeepAlive = max(lease.lastKeepAlive, elapsed - randomDelay(leaseTime(lease)))
            } else if elapsed - lease.lastKeepAlive >= leaseTime(lease) {
                expire(lease)
            }
        }
        judge.checkAtRest()
    }

    private func isKeptAlive(_ process: SimulatedProcess, _ hasEnded: Bool) -> Bool {
        process.isAlive && process.isReached && !hasEnded || !process.isAlive && mistake == .keepsLockOfTheDead
    }

    private func randomDelay(_ time: Double) -> Double { Double.random(in: 0..<time / 3, using: &random) }

    private func expire(_ lock: ProcessTransaction) {
        note("the lock of \(lock.process.name) is lost")
        coverage.count(.lockExpired)
        lock.isLost = true
        lockHolder = nil
        if lock.lockRevision > 0 { lock.process.hearsTooLate = true }
    }

    private func expire(_ lease: ProcessLease) {
        note("the lease of \(lease.process.name) is lost")
        coverage.count(.leaseExpired)
        if lease.process.isAlive, lease.process.isStopped { coverage.count(lease.phase.lapsed) }
        lease.isLost = true
        leaseHolder = nil
        judge.lapsed(lease)
    }

    /// Advances the time until a lock that its holder cannot release has expired. Returns `false` if there is no such
    /// lock.
    func outlivesTheDead() -> Bool {
        guard weather.isFenced else { return false }
        let isLockLeft = lockHolder.map { !isKeptAlive($0.process, $0.hasEnded) } ?? false
        let isLeaseLeft = leaseHolder.map { !isKeptAlive($0.process, $0.hasEnded) } ?? false
        guard isLockLeft || isLeaseLeft else { return false }
        pass(100)
        return true
    }

    /// The caller gives up on an exchange that takes too long.
    private func giveUp(_ turn: Turn) {
        guard elapsed - turn.start >= Self.exchangeTime else { return }
        turn.leave()
        // The token was not sent, and the process learns that when it runs again.
        if turn.isDisallowed { return }
        switch turn.answer {
        case nil: lateRequests.append(turn.call)
        case .success: judge.lost(turn)
        case .failure: return
        }
        note("\(turn.process.name) gives up: \(turn.call.text)")
        judge.gaveUp(turn.call)
        turn.truth = nil
        turn.dueStep = 0
        turn.answer = .failure(AuthorityError.noResponse(.timeout))
    }

    // MARK: Processes that are stopped or cut off

    /// Whether a process was stopped before the first byte of a refresh token. It must not send the token if another process
    /// has refreshed in the meantime.
    var hasUnsentToken: Bool { turns.contains(where: \.isUnsentToken) }

    func stop(_ process: SimulatedProcess) {
        note("\(process.name) is stopped")
        process.isStopped = true
        for turn in turns where turn.process === process && turn.answer == nil {
            // Prefer to leave a refresh token unsent, which is the most critical case.
            let probability = turn.call.redeemed == nil ? 0.3 : 0.7
            turn.isUnsent = !turn.call.isRequest && !turn.call.isWrite || !turn.hasLeft && happens(probability)
            if !turn.isUnsent { turn.leave() }
        }
    }

    /// Wakes a process, and reconnects it to the store.
    func resume(_ process: SimulatedProcess) {
        if process.isStopped {
            note("\(process.name) is woken")
            process.isStopped = false
            if let lease = leaseHolder, lease.process === process { coverage.count(lease.phase.stopped) }
            for turn in turns where turn.process === process {
                if turn.isUnsent {
                    turn.isUnsent = false
                } else if turn.call.isExchange, happens(0.5) {
                    giveUp(turn)
                }
            }
        }
        reconnect(process)
    }

    func reconnect(_ process: SimulatedProcess) {
        if process.isCutOff {
            note("\(process.name) reaches the store again")
            process.isCutOff = false
            if mistake == .writesReplicaBack { writeBack(process) }
        }
        if weather.isFenced, process.isReached {
            process.changeHappened()
            runJobs()
            judge.settle()
        }
    }

    private func writeBack(_ process: SimulatedProcess) {
        guard let replica = replicas[process.machine], replica.entry.revision != entries[.account]?.revision else {
            return
        }
        put(.account, StoredEntry(bytes: replica.entry.bytes, revision: nextRevision()))
        judge.writtenBack(process)
    }
}

extension Schedule {
    /// Stops and wakes processes, cuts them off from the store, and advances the time.
    func happensToStore() {
        let weather = world.weather
        // Prefer the holder of a lock, and above all a process that is about to send a token.
        let factor: Double =
            switch world.leaseHolder?.phase {
            case .beforeFirstByte: 10
            case .beforeSending: 5
            default: 1
            }
        // Don't stop other processes while a process has an unsent token, so that another process may refresh.
        if !world.hasUnsentToken, world.happens(weather.stops * factor) {
            let holder = [world.leaseHolder?.process, world.lockHolder?.process].compactMap { $0 }
                .randomElement(using: &world.random)
            let anybody = world.processes.randomElement(using: &world.random)!
            let process = world.happens(0.7) ? holder ?? anybody : anybody
            if process.isAlive, !process.isStopped { world.stop(process) }
        }
        for process in world.processes where process.isStopped {
            let hasUnsentToken = world.turns.contains { $0.process === process && $0.isUnsentToken }
            guard world.happens(hasUnsentToken ? 0.01 : 0.1) else { continue }
            world.coverage.count(.woken)
            world.resume(process)
        }
        if world.happens(weather.cutOffs) {
            let one = world.processes.randomElement(using: &world.random)!
            for process in world.happens(0.5) ? [one] : world.processes where !process.isCutOff {
                world.note("\(process.name) cannot reach the store")
                process.isCutOff = true
            }
        }
        for process in world.processes where process.isCutOff && world.happens(0.15) { world.reconnect(process) }
        let isTroubled = world.processes.contains { !$0.isReached }
        if world.happens(isTroubled || world.mistake == .leaseIsNotKeptAlive ? 0.3 : 0.1) {
            world.pass([1, 4, 6, 12, 20, 80].randomElement(using: &world.random)!)
        }
        if !world.lateCommits.isEmpty, world.happens(0.2) { world.commitLate() }
    }
}
