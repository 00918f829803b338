#if Offline
public import AccountKit
import AccountSupport
import HTTPTypes

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The result of a synchronization.
public struct SynchronizationReport: Sendable {
    /// The number of changes that were sent.
    public var sentCount = 0

    /// The remaining changes.
    public var pending: [PendingChange] = []

    /// The reason why the synchronization ended early, or `nil` if it tried to send all changes.
    public var problem: AccountError?
}

extension OfflineCollection {
    /// Adds a change, which is durable when this method returns. To send the change, call
    /// ``synchronize(ignoringBackOff:onProgress:)``.
    ///
    /// - Returns: The change, which may be combined with an earlier unsent change of the same item. `nil` if the two
    ///   changes cancel each other out.
    /// - Throws: `inaccessible` if AccountKit cannot store the change. In this case, the change is not added.
    @discardableResult
    public func add(_ change: Change) async throws(AccountError) -> Change? {
        try await errors {
            try await checkIsCurrent()
            return try await outbox.add(change) { [remote] in try remote.joining($0, $1) }
        }
    }

    /// Returns the unsent changes in the order in which they were made.
    public func pendingChanges() async throws(AccountError) -> [PendingChange] {
        try await errors { try await outbox.pending().map(\.pending) }
    }

    /// What the user wants to do with a conflicting or rejected change.
    public enum Decision: Sendable, Hashable {
        /// Send the change, and overwrite the changes of other clients.
        case keepMine
        /// Drop the change. If the change would create an item, also drop later changes of the item.
        case discard
    }

    /// Applies the user's decision to a change.
    ///
    /// - Returns: `false` if there is no change with this ID.
    public func resolve(_ id: Change.ID, _ decision: Decision) async throws(AccountError) -> Bool {
        try await errors {
            try await storage.withRefreshLease(timeout: .seconds(30)) { _ in
                guard let entry = try await outbox.pending().first(where: { $0.change.id == id }) else { return false }
                switch decision {
                case .discard: try await outbox.discard(entry)
                case .keepMine:
                    var change = entry.change
                    change.base = nil
                    // If the response to a change was lost, the next run still checks first at the service whether the
                    // change took effect.
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

    /// Sends each unsent change once, in order for each item.
    ///
    /// Only one process at a time sends changes. If the response to a change was lost, the synchronization checks at
    /// the service whether the change took effect before it sends the change again. If the service is unreachable, the
    /// synchronization ends. If the service rejects a change, the change waits until the user resolves it, and
    /// the synchronization continues with the other changes.
    ///
    /// - Parameters:
    ///   - ignoringBackOff: Whether to ignore pauses after failures, because the user requested the synchronization.
    ///     AccountKit always observes a pause that the service requested.
    ///   - onProgress: A function that receives the numbers of sent and remaining changes after each change.
    /// - Throws: `busy` if another process sends changes for too long; `notSignedIn` if the user has signed out; or an
    ///   error if the changes cannot be read. An unreachable service is not an error: the report contains the problem.
    public func synchronize(
        ignoringBackOff: Bool = false, onProgress: (@Sendable (_ sent: Int, _ left: Int) -> Void)? = nil
    ) async throws(AccountError) -> SynchronizationReport {
        try await errors {
            guard try await !outbox.pending().isEmpty else { return SynchronizationReport() }
            return try await storage.withRefreshLease(timeout: .seconds(60)) { _ in
                var run = SynchronizationRun(self, ignoringBackOff: ignoringBackOff)
                return try await run.run(onProgress)
            }
        }
    }
}

/// A synchronization by the holder of the lease.
private struct SynchronizationRun<Remote: RemoteCollection> {
    private let collection: OfflineCollection<Remote>
    private let ignoringBackOff: Bool
    private var report = SynchronizationReport()
    private var tries: [Change.ID: Int] = [:]
    private var isOver = false

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
                    .serviceUnavailable, "the service requested a pause of another \(wait) s (\(pause.reason))")
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

    /// Returns the next change that may be tried now. Only the first change of each item is considered.
    private func nextEntry() async throws -> OutboxDatabase.Entry? {
        var held: Set<String> = []
        for entry in try await collection.outbox.pending() {
            guard held.insert(entry.change.object).inserted, !entry.pending.state.needsDecision,
                tries[entry.change.id, default: 0] < Self.maximumTries
            else { continue }
            // Ignore the pause only once for the user's request. After another failure, the usual pause applies.
            if !ignoringBackOff || tries[entry.change.id] != nil, let notBefore = entry.pending.notBefore,
                notBefore > now,
                // A date further ahead means that the clock was set back.
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
        // A process ended before it updated the lists.
        if let made = entry.made { return try await finish(entry, made) }
        // If a process ended while it sent the change, the service may have applied the change.
        let wasSent = entry.pending.state == .sending || entry.pending.state == .unknown
        let asBefore = wasSent ? ChangeState.unknown : .queued
        guard entry.change.kind == .create || !entry.change.hasLocalID else {
            return try await park(entry, .conflict, "the item of this change was never created")
        }
        let standing: ChangeStanding
        do {
            standing = try await collection.remote.standing(
                of: entry.change, wasSent: wasSent,
                claimed: try await collection.outbox.claimedIDs(), fetching: collection.transport)
        } catch {
            // Only the check failed, so the state of the change stays the same.
            return try await note(
                ResponseOutcome(error, of: entry.change.kind, at: now), error, entry, ifNotDone: asBefore,
                ifUnknown: asBefore)
        }
        switch standing {
        case .pending: try await send(entry)
        case .done(let item): try await finish(entry, item)
        case .conflict(let why): try await park(entry, .conflict, why)
        case .unknown:
            try await park(
                entry, .conflict, "the response was lost, so it is unknown whether the service carried out this change")
        }
    }

    private mutating func send(_ entry: OutboxDatabase.Entry) async throws {
        var change = entry.change
        change.sentAt = change.sentAt ?? now
        let request: (head: HTTPRequest, body: Data?)
        do {
            request = try collection.remote.request(for: change)
        } catch {
            return try await park(
                entry, .refused,
                "the app cannot create a request for this change (\(error.userText)): discard the change")
        }
        try Task.checkCancellation()
        // From now on, the change counts as sent, even if this process ends.
        let pending = PendingChange(
            change: change, state: .sending, attempts: entry.pending.attempts + 1,
            lastProblem: entry.pending.lastProblem, notBefore: nil)
        guard let sending = try await collection.outbox.replace(entry, with: pending) else {
            // The change was modified in the meantime, so send the new version next.
            tries[entry.change.id] = nil
            return
        }
        var outcome: ResponseOutcome
        var item: RemoteItem?
        var failure: (any Error)?
        do {
            let (head, response) = try await collection.transport(request.head, request.body)
            outcome = ResponseOutcome(of: change.kind, head, response, at: now)
            if outcome == .done, change.kind == .create || (change.kind == .update && !response.isEmpty) {
                item = try collection.remote.item(head, response)
            }
        } catch {
            outcome = ResponseOutcome(error, of: change.kind, at: now)
            failure = error
        }
        if outcome == .done, failure == nil {
            try await finish(sending, item)
        } else {
            // A change that was never sent can still be combined with other changes.
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

    /// Stores the outcome of an attempt: `state` if the service did not apply the change, or `unknownState` if this is
    /// unknown.
    private mutating func note(
        _ outcome: ResponseOutcome, _ error: (any Error)?, _ entry: OutboxDatabase.Entry, as change: Change? = nil,
        ifNotDone state: ChangeState, ifUnknown unknownState: ChangeState
    ) async throws {
        func postpone(_ state: ChangeState, _ why: String, _ wait: Duration?) async throws {
            // The pause doubles after each failure, up to an hour. A random factor prevents clients from retrying at
            // the same time.
            let backOff =
                BackOff(first: 2, longest: 3600).pause(after: entry.pending.attempts) * .random(in: 0.75...1.25)
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
            // Keep the state `unknown`, because the service may have applied an earlier attempt.
            try await postpone(state == .unknown ? .unknown : .waitingForSignIn, why, .zero)
            let known = error as? AccountError
            report.problem = AccountError(
                .notSignedIn, known == nil ? "the service does not accept this session (\(why))" : why,
                hint: known?.hint ?? "sign in again", cause: known == nil ? error : known?.cause)
            isOver = true
        case .conflict(let why): try await park(entry, .conflict, why)
        case .refused(let why): try await park(entry, .refused, why)
        }
        if let error = error as? AccountError, error.isOfThisMachine { throw error }
        // If the service is unreachable, other changes would fail too.
        if let error, !(error is RemoteFailure), !isOver, outcome.isAboutNetwork {
            report.problem =
                (error as? AccountError)?.offline ?? AccountError(.serviceUnavailable, error.userText, cause: error)
            isOver = true
        }
    }

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

    /// Stores the effect of a change in the lists, and then removes the change.
    private mutating func finish(_ entry: OutboxDatabase.Entry, _ item: RemoteItem?) async throws {
        var entry = entry
        if entry.change.kind == .create, entry.made == nil, let item,
            // From now on, the item appears exactly once, even after a crash, whether or not the lists contain it.
            let noted = try await collection.outbox.replace(entry, with: entry.pending, made: item)
        {
            entry = noted
        }
        var failure: (any Error)?
        do {
            try await show(entry.change, item)
        } catch {
            // Continue after this error: the app can request the lists again, but the outbox must record that the
            // change was sent.
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
            // The service has confirmed the change without sending the item, so compute the item from the change.
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

extension ResponseOutcome {
    fileprivate var isAboutNetwork: Bool {
        switch self {
        case .later, .unknown: true
        default: false
        }
    }
}

extension AccountError {
    fileprivate var isOfThisMachine: Bool { [.inaccessible, .busy, .damaged, .insecureContainer].contains(code) }
}
#endif
