#if Offline
public import AccountKit
import HTTPTypes

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// What a synchronization has done.
public struct SynchronizationReport: Sendable {
    /// How many changes were carried out.
    public var sentCount = 0

    /// What is left.
    public var pending: [PendingChange] = []

    /// Why it ended before all was sent; `nil` if there was nothing left to try.
    public var problem: AccountError?
}

extension OfflineCollection {
    /// Adds a change. It is on the disk when this returns, and is sent by ``synchronize(ignoringBackOff:onProgress:)``.
    ///
    /// - Returns: What is to be sent: the change before it with this one, if that was not sent yet; `nil` if the two cancel each
    ///   other out.
    /// - Throws: `inaccessible` if it cannot be stored: then it was not made.
    @discardableResult
    public func add(_ change: Change) async throws(AccountError) -> Change? {
        try await errors {
            try await checkIsCurrent()
            return try await outbox.add(change) { [remote] in try remote.joining($0, $1) }
        }
    }

    /// The changes that wait, in the order in which they were made.
    public func pendingChanges() async throws(AccountError) -> [PendingChange] {
        try await errors { try await outbox.pending().map(\.pending) }
    }

    /// What a person decided about a change that waits for that.
    public enum Decision: Sendable, Hashable {
        /// Send it, whatever somebody else has made of the item.
        case keepMine
        /// Drop it; of an item that it was to make, also the changes after it.
        case discard
    }

    /// Carries out a decision.
    ///
    /// - Returns: `false` if there is no such change.
    public func resolve(_ id: Change.ID, _ decision: Decision) async throws(AccountError) -> Bool {
        try await errors {
            try await withLease(timeout: .seconds(30)) {
                guard let entry = try await outbox.pending().first(where: { $0.change.id == id }) else { return false }
                switch decision {
                case .discard: try await outbox.discard(entry)
                case .keepMine:
                    var change = entry.change
                    change.base = nil
                    // One whose response was lost is still looked for first.
                    let wasSent = entry.pending.state == .unknown || entry.pending.state == .sending
                    let pending = PendingChange(
                        change: change, state: wasSent ? .unknown : .queued, attempts: entry.pending.attempts,
                        lastProblem: nil, notBefore: nil)
                    return try await outbox.replace(entry, with: pending) != nil
                }
                return true
            }
        }
    }

    /// Sends the changes that wait, each once, in the order of each item.
    ///
    /// One process at a time sends. A change whose response was lost is looked for at the service before it is sent again. Being
    /// offline ends it; a change that the service does not take waits for a person, and the others go on.
    ///
    /// - Parameters:
    ///   - ignoringBackOff: Whether to try also those that are to wait, since a person wants it now. A service that has asked to
    ///     be left alone is left alone.
    ///   - onProgress: Called after each change, with how many were sent and how many are left.
    /// - Throws: `busy` if another process has been sending for long, `notSignedIn`, and what keeps the changes from being read.
    ///   No network is not an error: the report says so.
    public func synchronize(
        ignoringBackOff: Bool = false, onProgress: (@Sendable (_ sent: Int, _ left: Int) -> Void)? = nil
    ) async throws(AccountError) -> SynchronizationReport {
        try await errors {
            guard try await !outbox.pending().isEmpty else { return SynchronizationReport() }
            return try await withLease(timeout: .seconds(60)) {
                var run = SynchronizationRun(self, ignoringBackOff: ignoringBackOff)
                return try await run.run(onProgress)
            }
        }
    }

    private func withLease<Value>(timeout: Duration, _ body: () async throws -> Value) async throws -> Value {
        let lease = try await storage.acquireRefreshLease(timeout: timeout)
        do {
            let value = try await body()
            await lease.end()
            return value
        } catch {
            await lease.end()
            throw error
        }
    }
}

/// One synchronization, by whoever holds the lease.
private struct SynchronizationRun<Remote: RemoteCollection> {
    private let collection: OfflineCollection<Remote>
    private let ignoringBackOff: Bool
    private var report = SynchronizationReport()
    private var tries: [Change.ID: Int] = [:]
    private var isOver = false

    /// So often a change is tried in one run.
    private static var maximumTries: Int { 3 }

    init(_ collection: OfflineCollection<Remote>, ignoringBackOff: Bool) {
        self.collection = collection
        self.ignoringBackOff = ignoringBackOff
    }

    private var now: Date { collection.clock.now }

    mutating func run(_ onProgress: (@Sendable (Int, Int) -> Void)?) async throws -> SynchronizationReport {
        while !isOver {
            if let pause = try await collection.outbox.pause(at: now) {
                let wait = Int(pause.until.timeIntervalSince(now).rounded(.up))
                report.problem = AccountError(
                    .serviceUnavailable, "the service asked to be left alone for another \(wait) s (\(pause.reason))")
                break
            }
            try Task.checkCancellation()
            guard let entry = try await nextEntry() else { break }
            try await collection.checkIsCurrent()
            try await attempt(entry)
            onProgress?(report.sentCount, try await collection.outbox.pending().count)
        }
        report.pending = try await collection.outbox.pending().map(\.pending)
        return report
    }

    /// The first change of its item that may be tried now.
    private func nextEntry() async throws -> OutboxDatabase.Entry? {
        var held: Set<String> = []
        for entry in try await collection.outbox.pending() {
            guard held.insert(entry.change.object).inserted, !entry.pending.state.needsDecision,
                tries[entry.change.id, default: 0] < Self.maximumTries
            else { continue }
            // A person's wish counts once: what fails even so waits like all else.
            if !ignoringBackOff || tries[entry.change.id] != nil, let notBefore = entry.pending.notBefore,
                notBefore > now,
                // Further ahead, the clock was set back.
                notBefore.timeIntervalSince(now) <= 86_400
            {
                continue
            }
            return entry
        }
        return nil
    }

    private mutating func attempt(_ entry: OutboxDatabase.Entry) async throws {
        tries[entry.change.id, default: 0] += 1
        // A process died when only the lists were left to be told.
        if let made = entry.made { return try await finish(entry, made) }
        // One that was being sent when its process died may have been carried out.
        let wasSent = entry.pending.state == .sending || entry.pending.state == .unknown
        let asBefore = wasSent ? ChangeState.unknown : .queued
        guard entry.change.kind == .create || !entry.change.hasLocalID else {
            return try await park(entry, .conflict, "the item that it belongs to was never made")
        }
        let standing: ChangeStanding
        do {
            standing = try await collection.remote.standing(
                of: entry.change, wasSent: wasSent,
                claimed: try await collection.outbox.claimedIDs(), fetching: collection.transport)
        } catch {
            // Only looked at, so it stands as before.
            return try await note(
                RemoteOutcome(error, of: entry.change.kind, at: now), error, entry, ifNotDone: asBefore,
                ifUnknown: asBefore)
        }
        switch standing {
        case .pending: try await send(entry)
        case .done(let item): try await finish(entry, item)
        case .conflict(let why): try await park(entry, .conflict, why)
        case .unknown:
            try await park(
                entry, .conflict, "its response was lost, and nobody can tell whether the service has carried it out")
        }
    }

    private mutating func send(_ entry: OutboxDatabase.Entry) async throws {
        var change = entry.change
        change.sentAt = change.sentAt ?? now
        let request: (head: HTTPRequest, body: Data?)
        do {
            request = try collection.remote.request(for: change)
        } catch {
            return try await park(entry, .refused, "no request can be made from this change (\(error)): discard it")
        }
        try Task.checkCancellation()
        // From here on it counts as sent, whatever becomes of this process.
        let pending = PendingChange(
            change: change, state: .sending, attempts: entry.pending.attempts + 1,
            lastProblem: entry.pending.lastProblem, notBefore: nil)
        guard let sending = try await collection.outbox.replace(entry, with: pending) else {
            // What the user has made of it meanwhile goes in its place.
            tries[entry.change.id] = nil
            return
        }
        var outcome: RemoteOutcome
        var item: RemoteItem?
        var failure: (any Error)?
        do {
            let (head, response) = try await collection.transport(request.head, request.body)
            outcome = RemoteOutcome(of: change.kind, head, response, at: now)
            if outcome == .done, change.kind == .create || (change.kind == .update && !response.isEmpty) {
                item = try collection.remote.item(head, response)
            }
        } catch {
            outcome = RemoteOutcome(error, of: change.kind, at: now)
            failure = error
        }
        if outcome == .done, failure == nil {
            try await finish(sending, item)
        } else {
            // A change that never left this machine can still be joined with others.
            let neverLeft =
                switch outcome {
                case .later, .signIn: failure != nil
                default: false
                }
            try await note(
                outcome, failure, sending, as: neverLeft ? entry.change : change, ifNotDone: .queued,
                ifUnknown: .unknown)
        }
        if collection.remote.pause > .zero, !isOver { try await Task.sleep(for: collection.remote.pause) }
    }

    /// Notes that a change was not carried out, or that nobody knows.
    ///
    /// - Parameters:
    ///   - change: What it is to be stored as.
    ///   - state: How it stands if it was not carried out.
    ///   - unknownState: How it stands if nobody knows.
    private mutating func note(
        _ outcome: RemoteOutcome, _ error: (any Error)?, _ entry: OutboxDatabase.Entry, as change: Change? = nil,
        ifNotDone state: ChangeState, ifUnknown unknownState: ChangeState
    ) async throws {
        func postpone(_ state: ChangeState, _ why: String, _ wait: Duration?) async throws {
            // Doubled each time, up to an hour, and never the same for all who wait.
            let exponent = min(max(entry.pending.attempts, 1), 12)
            let backOff = min(Double(1 << exponent), 3600) * Double.random(in: 0.75...1.25)
            let pause = wait.map { Double($0.components.seconds) } ?? backOff
            _ = try await collection.outbox.replace(
                entry,
                with: PendingChange(
                    change: change ?? entry.change, state: state, attempts: entry.pending.attempts, lastProblem: why,
                    notBefore: now.addingTimeInterval(pause)))
        }
        switch outcome {
        case .done: break
        case .later(let why, let wait):
            try await postpone(state, why, wait)
            try await leaveAlone(for: wait, because: why)
        case .unknown(let why, let wait):
            try await postpone(unknownState, why, wait)
            try await leaveAlone(for: wait, because: why)
        case .pause(let why, let wait):
            try await postpone(state, why, wait)
            try await leaveAlone(for: wait, because: why)
        case .signIn(let why):
            // That an earlier attempt may have been carried out is not forgotten.
            try await postpone(state == .unknown ? .unknown : .waitingForSignIn, why, .zero)
            report.problem = AccountError(
                .notSignedIn,
                error is AccountError ? why : "the service does not take this sign-in (\(why)): sign in again",
                cause: error)
            isOver = true
        case .conflict(let why): try await park(entry, .conflict, why)
        case .refused(let why): try await park(entry, .refused, why)
        }
        if let error = error as? AccountError, error.isOfThisMachine { throw error }
        // Where nothing comes back, the other changes would fare no better.
        if let error, !(error is RemoteFailure), !isOver, outcome.isAboutNetwork {
            report.problem =
                (error as? AccountError)?.offline ?? AccountError(.serviceUnavailable, "\(error)", cause: error)
            isOver = true
        }
    }

    /// Sends nothing more for as long as the service asks for.
    private func leaveAlone(for wait: Duration?, because why: String) async throws {
        guard let wait, wait > .zero else { return }
        try await collection.outbox.pause(
            until: now.addingTimeInterval(Double(wait.components.seconds)), because: why)
    }

    private func park(_ entry: OutboxDatabase.Entry, _ state: ChangeState, _ why: String) async throws {
        _ = try await collection.outbox.replace(
            entry,
            with: PendingChange(
                change: entry.change, state: state, attempts: entry.pending.attempts, lastProblem: why, notBefore: nil))
    }

    /// It was carried out: first the lists have it, then it waits no more.
    private mutating func finish(_ entry: OutboxDatabase.Entry, _ item: RemoteItem?) async throws {
        var entry = entry
        if entry.change.kind == .create, entry.made == nil, let item,
            // From here on a death shows it once, whether the lists have it or not.
            let noted = try await collection.outbox.replace(entry, with: entry.pending, made: item)
        {
            entry = noted
        }
        var failure: (any Error)?
        do {
            try await show(entry.change, item)
        } catch {
            // The lists can be fetched again; that it was sent must be kept whatever becomes of them.
            failure = error
        }
        try await collection.outbox.remove(
            entry, made: item?.id, version: item.flatMap { collection.remote.version(of: $0) })
        report.sentCount += 1
        if let failure { throw failure }
    }

    private func show(_ change: Change, _ item: RemoteItem?) async throws {
        try await collection.checkIsCurrent()
        let id = item?.id ?? change.object
        if change.kind == .delete { try await collection.lists.removeItem(change.object) }
        if let item { try await collection.lists.storeDetail(item, at: now) }
        let names = try await collection.lists.all().map(\.record.name)
        var stored = item
        if stored == nil, change.kind != .delete {
            // The service has only confirmed it: until it is asked again, the item is as the change has made it.
            stored = try changed(try await collection.lists.item(id), change)
            if let detail = try changed(try await collection.lists.detail(of: id)?.item, change) {
                try await collection.lists.storeDetail(detail, at: now)
            }
        }
        if let stored, change.kind != .delete {
            let shown = names.filter { collection.remote.effect(of: change, on: $0) == .shownFirst }
            try await collection.lists.put(stored, firstIn: shown)
        }
        let hidden = names.filter { collection.remote.effect(of: change, on: $0) == .hidden }
        try await collection.lists.remove(id, from: hidden)
    }

    private func changed(_ item: RemoteItem?, _ change: Change) throws -> RemoteItem? {
        guard let item, let json = try collection.remote.item(item.json, with: change) else { return item }
        return RemoteItem(id: item.id, json: json)
    }
}

extension RemoteOutcome {
    fileprivate var isAboutNetwork: Bool {
        switch self {
        case .later, .unknown: true
        default: false
        }
    }
}

extension AccountError {
    /// Whether it is this machine that failed, and not the request.
    fileprivate var isOfThisMachine: Bool { [.inaccessible, .busy, .damaged, .insecureContainer].contains(code) }
}
#endif
