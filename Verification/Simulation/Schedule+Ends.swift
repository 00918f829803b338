import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Starts and ends processes, and ends a schedule.
extension Schedule {
    mutating func startProcess(_ index: Int) {
        lifeCount += 1
        let process = SimulatedProcess(
            world: world, name: "\("PQR".dropFirst(index).prefix(1))\(lifeCount)", machine: index,
            isFollowing: Bool.random(using: &world.random))
        if index < world.processes.count { world.processes[index] = process } else { world.processes.append(process) }
        process.start()
        world.runJobs()
        world.judge.settle()
    }

    mutating func crash() {
        // Prefer the holder of the lock, whose death is the most critical case.
        let holder = world.processes.firstIndex { $0 === world.lockHolder?.process }
        let anybody = Int.random(in: 0..<world.processes.count, using: &world.random)
        crashCount += 1
        end(world.processes[world.happens(0.5) ? holder ?? anybody : anybody], isKilled: true)
    }

    /// - Parameter isKilled: Whether the process cannot finish its exchanges.
    mutating func end(_ process: SimulatedProcess, isKilled: Bool) {
        guard let index = world.processes.firstIndex(where: { $0 === process }) else { return }
        let turns = world.turns.filter { $0.process === process }
        world.note("\(process.name) dies")
        for turn in turns { count(turn) }
        if !process.unwritten.isEmpty { world.coverage.count(.crashBeforeSave) }
        if process.unsaved.contains(where: { $0.grant == world.judge.versions.last!.account?.tokens.grant }) {
            world.coverage.count(.crashWithUnsaved)
        }
        world.judge.died(process, with: turns, isKilled: isKilled)
        world.turns.removeAll { $0.process === process }
        for turn in turns where turn.answer == nil {
            if turn.call.isRequest, world.happens(0.5) {
                turn.leave()
                if !turn.isDisallowed { world.lateRequests.append(turn.call) }
            }
            if turn.call.isWrite, world.weather.isFenced, world.happens(0.5) { world.lateCommits.append(turn) }
            if case .replace(.account, let bytes, _) = turn.call, world.mistake == .tearsWrites {
                world.put(.account, StoredEntry(bytes: Array(bytes.prefix(100)), revision: world.nextRevision()))
                world.judge.committed(turn)
            }
        }
        process.die()
        for turn in turns { turn.continuation.resume(returning: .failure(Died())) }
        world.runJobs()
        // A shared store does not detect the death, and keeps the locks until they expire.
        if !world.weather.isFenced, world.mistake != .keepsLockOfTheDead {
            if world.leaseHolder?.process === process { world.leaseHolder = nil }
            if world.lockHolder?.process === process { world.lockHolder = nil }
        }
        world.judge.checkAtRest()
        startProcess(index)
    }

    private func count(_ turn: Turn) {
        let occurrence: Occurrence? =
            switch turn.call {
            case .begin: turn.answer == nil ? .crashWaitingForLock : nil
            case .read: .crashReading
            case let call where call.isWrite: turn.answer == nil ? .crashBeforeWrite : .crashAfterWrite
            case let call where call.isRequest: turn.answer == nil ? .crashBeforeRequest : .crashBeforeResponse
            default: nil
            }
        if let occurrence { world.coverage.count(occurrence) }
    }

    // MARK: The end

    /// Runs until all operations have ended, without failures.
    mutating func drain(calmly isCalm: Bool) {
        world.isCalm = isCalm
        defer { world.isCalm = false }
        for process in world.processes { world.resume(process) }
        repeat {
            while world.judge.violation == nil, world.turns.contains(where: { !world.isBlocked($0) }) { takeATurn() }
        } while world.judge.violation == nil && world.outlivesTheDead()
        operations.removeAll { $0.outcome != nil || !$0.process.isAlive }
        guard world.judge.violation == nil else { return }
        if let operation = operations.first {
            world.judge.violate(.everythingEnds, "\(operation.process.name): \(operation.kind) never ends")
        } else if let holder = world.lockHolder?.process ?? world.leaseHolder?.process {
            world.judge.violate(.everythingEnds, "a lock is still held by \(holder.name)")
        } else if let process = world.processes.first(where: { $0.exchangeCount != 0 }) {
            world.judge.violate(.everythingEnds, "\(process.name) has \(process.exchangeCount) exchanges under way")
        }
    }

    mutating func comeToRest() {
        world.note("From here on nothing fails.")
        drain(calmly: true)
        while !world.lateRequests.isEmpty { arriveLate() }
        while !world.lateCommits.isEmpty { world.commitLate() }
        guard world.judge.violation == nil else { return }
        let followers = world.processes.filter { $0.isFollowing && !$0.hasMissedChange && !$0.hearsTooLate }
        if !world.weather.canLockBeLost { world.judge.checkAgreement(isStrict: false, followers) }
        // A process with unsaved tokens saves them a moment after its last try. The other processes read these tokens
        // with their next read.
        world.date = world.date.addingTimeInterval(1)
        all(.load)
        all(.load)
        world.judge.checkAgreement(isStrict: true, world.processes)
        // A refused revocation is sent three times.
        for _ in 0..<3 where world.judge.violation == nil {
            begin(.deliverRevocations, in: world.processes[0], ignoringPauses: true)
            drain(calmly: true)
        }
        world.judge.checkWhatIsLeft()
    }

    private mutating func all(_ kind: Operation.Kind) {
        for process in world.processes where world.judge.violation == nil {
            begin(kind, in: process)
            drain(calmly: true)
        }
    }
}
