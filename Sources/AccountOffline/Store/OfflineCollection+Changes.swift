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

    /// The reason why the synchronization ended early; `nil` if it tried to send all changes.
    public var problem: AccountError?
}

extension OfflineCollection {
    /// Adds a change. It is durable when this returns, and ``synchronize(ignoringBackOff:onProgress:)`` sends it.
    ///
    /// - Returns: The change, combined with an earlier unsent one of the same item; `nil` if they cancel each other.
    /// - Throws: `inaccessible` if the change cannot be stored. Then it was not added.
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

    /// The user's decision about a change that needs one.
    public enum Decision: Sendable, Hashable {
        /// Send the change, and overwrite the changes of other clients.
        case keepMine
        /// Drop the change. If it would create an item, drop later changes of that item too.
        case discard
    }

    /// Carries out a decision.
    ///
    /// - Returns: `false` if there is no such change.
    public func resolve(_ id: Change.ID, _ decision: Decision) async throws(AccountError) -> Bool {
        try await errors {
            try await storage.withRefreshLease(timeout: .seconds(30)) { _ in
                guard let entry = try await outbox.pending().first(where: { $0.change.id == id }) else { return false }
                switch decision {
                case .discard: try await outbox.discard(entry)
                case .keepMine:
                    var change = entry.change
                    change.base = nil
                    // If the response to a change was lost, the next run still asks the service for its effect first.
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

    /// Sends the unsent changes, each once, in order for each item.
    ///
    /// One process at a time sends. If the response to a change was lost, the synchronization checks at the service
    /// whether the change took effect before sending it again. The synchronization ends if the service is unreachable.
    /// A change that the service refuses waits for the user's decision, and the others continue.
    ///
    /// - Parameters:
    ///   - ignoringBackOff: Whether to ignore pauses after failures, because the user asked for it. A pause that the
    ///     service asked for is kept.
    ///   - onProgress: Called after each change with the numbers of sent and remaining changes.
    /// - Throws: `busy` if another process is sending for a long time; `notSignedIn`; or an error if the changes cannot
    ///   be read. An unreachable service is not an error, but part of the report.
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
                    .serviceUnavailable, "the service asked for a pause of another \(wait) s (\(pause.reason))")
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

    /// Returns the first change of an item that may be tried now.
    private func nextEntry() async throws -> OutboxDatabase.Entry? {
        var held: Set<String> = []
        for entry in try await collection.outbox.pending() {
            guard held.insert(entry.change.object).inserted, !entry.pending.state.needsDecision,
                tries[entry.change.id, default: 0] < Self.maximumTries
            else { continue }
            // The user's request counts once. After another failure the usual pause follows.
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
        // A process died before it updated the lists.
        if let made = entry.made { return try await finish(entry, made) }
        // If a process died while it sent the change, the service may have carried it out.
        let wasSent = entry.pending.state == .sending || entry.pending.state == .unknown
        let asBefore = wasSent ? ChangeState.unknown : .queued
        guard entry.change.kind == .create || !entry.change.hasLocalID else {
            return try await park(entry, .conflict, "the item that it belongs to was never created")
        }
        let standing: ChangeStanding
        do {
            standing = try await collection.remote.standing(
                of: entry.change, wasSent: wasSent,
                claimed: try await collection.outbox.claimedIDs(), fetching: collection.transport)
        } catch {
            // The service was only asked, so the state does not change.
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
                entry, .conflict, "its response was lost, and it is unknown whether the service carried it out")
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
        // From here on the change counts as sent, even if this process dies.
        let pending = PendingChange(
            change: change, state: .sending, attempts: entry.pending.attempts + 1,
            lastProblem: entry.pending.lastProblem, notBefore: nil)
        guard let sending = try await collection.outbox.replace(entry, with: pending) else {
            // The user has changed it in between, so the new version is sent.
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
            // A change that never left this machine can still be combined with others.
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

    /// Stores that a change was not carried out (`state`), or that this is unknown (`unknownState`).
    private mutating func note(
        _ outcome: ResponseOutcome, _ error: (any Error)?, _ entry: OutboxDatabase.Entry, as change: Change? = nil,
        ifNotDone state: ChangeState, ifUnknown unknownState: ChangeState
    ) async throws {
        func postpone(_ state: ChangeState, _ why: String, _ wait: Duration?) async throws {
            // The pause doubles each time, up to an hour, and is random, so that clients do not try again all at once.
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
            // The service may have carried out an earlier attempt, so that state stays.
            try await postpone(state == .unknown ? .unknown : .waitingForSignIn, why, .zero)
            report.problem = AccountError(
                .notSignedIn,
                error is AccountError ? why : "the service does not accept this session (\(why))",
                hint: error is AccountError ? nil : "sign in again", cause: error)
            isOver = true
        case .conflict(let why): try await park(entry, .conflict, why)
        case .refused(let why): try await park(entry, .refused, why)
        }
        if let error = error as? AccountError, error.isOfThisMachine { throw error }
        // If the service is unreachable, other changes would fail too.
        if let error, !(error is RemoteFailure), !isOver, outcome.isAboutNetwork {
            report.problem =
                (error as? AccountError)?.offline ?? AccountError(.serviceUnavailable, "\(error)", cause: error)
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
            // From here on the item is shown once even after a crash, with or without the lists.
            let noted = try await collection.outbox.replace(entry, with: entry.pending, made: item)
        {
            entry = noted
        }
        var failure: (any Error)?
        do {
            try await show(entry.change, item)
        } catch {
            // The lists can be requested again, but the record that the change was sent must be kept.
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
            // The service has only confirmed the change, so the item is computed from it until the next request.
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
