#if Offline
import AccountKit
import AccountSupport
import HTTPTypes

/// A synchronization by the holder of the lease.
struct SynchronizationRun<Remote: RemoteCollection> {
    private let collection: OfflineCollection<Remote>
    private let ignoringBackOff: Bool
    private var report = SynchronizationReport()
    private var tries: [Change.ID: Int] = [:]
    private var isOver = false
    /// The number of attempts since the last response from the service.
    private var silenceCount = 0
    private var lastSilence: AccountError?
    /// Why the stored item of a sent change was not updated.
    private var outdatedItem: AccountError?
    private var hasResponse = false
    /// Whether the service has had the time that it needs for each request whose response was lost.
    private var hasWaited = false
    private let contact = ServiceContact()

    private static var maximumTries: Int { 3 }

    /// The number of attempts without a response after which the service must respond to another request. A failure may
    /// concern only its change, for example if the service resets the connection of each large upload.
    private static var maximumSilence: Int { 3 }

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
        if !hasResponse, report.problem == nil { report.problem = lastSilence }
        if report.problem == nil { report.problem = outdatedItem }
        report.pending = try await collection.outbox.pending().map(\.pending)
        return report
    }

    /// Returns the next change that may be tried now. Only the first change of each item is considered. A change that has
    /// failed comes after the others, and after changes that failed longer ago, so that changes that always fail hold no
    /// other changes back.
    ///
    /// A change whose item the service has already created comes first, even if it failed before. Later changes may name
    /// the item by its ID at the service, and the lists must not receive the created item after the effects of these changes.
    private func nextEntry() async throws -> OutboxDatabase.Entry? {
        var held: Set<String> = []
        var failed: [OutboxDatabase.Entry] = []
        let entries = try await collection.outbox.pending()
        if let created = entries.first(where: { $0.made != nil }) { return created }
        for entry in entries {
            guard held.insert(entry.change.object).inserted, !entry.pending.state.needsDecision,
                tries[entry.change.id, default: 0] < Self.maximumTries
            else { continue }
            // Ignore the pause only once for the user's request. After another failure, the usual pause applies.
            if !ignoringBackOff || tries[entry.change.id] != nil, let notBefore = entry.pending.notBefore,
                notBefore > now,
                // A date further ahead means that the clock was set back.
                notBefore.timeIntervalSince(now) <= Self.backOff(after: entry.pending.attempts) * 1.25
            {
                continue
            }
            guard entry.pending.state == .unknown || entry.pending.lastProblem != nil else { return entry }
            failed.append(entry)
        }
        return failed.min { $0.pending.notBefore ?? .distantPast < $1.pending.notBefore ?? .distantPast }
    }

    /// The pause after a failure in seconds, without the random factor.
    private static func backOff(after attempts: Int) -> Double {
        BackOff(first: 2, longest: 3600).pause(after: attempts)
    }

    /// Sends a request to check the state of an item, and notes a response of the service.
    private var fetch: RemoteTransport {
        { [collection, contact] request, body in
            let response = try await collection.transport(request, body)
            if collection.remote.answer(response.head, response.body, to: nil) != .foreign {
                contact.note(response.head)
            }
            return response
        }
    }

    /// Returns whether the service responds to a request for the item of a change, even if it does not find the item.
    private func isResponding(to entry: OutboxDatabase.Entry) async -> Bool {
        // An error has the same meaning as no response.
        _ = try? await fetch(collection.remote.request(forItem: entry.change.object), nil)
        return contact.takeResponse()
    }

    private mutating func attempt(_ entry: OutboxDatabase.Entry) async throws {
        tries[entry.change.id, default: 0] += 1
        // A process ended before it updated the lists.
        if let made = entry.made { return try await finish(entry, made) }
        // If a process ended while it sent the change, the service may have applied the change.
        let wasSent = entry.pending.state == .sending || entry.pending.state == .unknown
        let asBefore = wasSent ? ChangeState.unknown : .queued
        guard entry.change.kind == .create || !entry.change.hasLocalID else {
            return try await mark(entry, as: .conflict, because: "the item of this change was never created")
        }
        var change = entry.change
        if change.sentAt == nil { change.sentAfter = contact.latestTime }
        let standing: ChangeStanding
        do {
            standing = try await self.standing(of: change, wasSent: wasSent)
        } catch {
            // Only the check failed, so the state of the change stays the same.
            return try await note(
                ResponseOutcome(error, from: collection.remote, at: now), error, entry, ifNotDone: asBefore,
                ifUnknown: asBefore)
        }
        switch standing {
        case .pending: try await send(entry)
        case .done(let item): try await finish(entry, item)
        case .conflict(let why): try await mark(entry, as: .conflict, because: why)
        case .gone(let why): try await mark(entry, as: .conflict, because: why, isItemGone: true)
        case .unknown:
            try await mark(
                entry, as: .conflict,
                because: "the response was lost, so it is unknown whether the service carried out this change")
        }
    }

    /// Asks the adapter for the state of a change. If the item of an earlier attempt is not there, the service may still
    /// create it, or show it only later, so this function waits and asks again: a second request could create a second item.
    /// It waits once for all changes. The time of the attempt does not matter, because the clock may have changed since then.
    private mutating func standing(of change: Change, wasSent: Bool) async throws -> ChangeStanding {
        let (remote, claimed) = (collection.remote, try await collection.outbox.claimedIDs())
        let standing = try await remote.standing(of: change, wasSent: wasSent, claimed: claimed, fetching: fetch)
        guard wasSent, change.kind == .create, standing == .pending, remote.searchDelay > .zero else { return standing }
        if !hasWaited { try await collection.wait(remote.searchDelay) }
        hasWaited = true
        return try await remote.standing(of: change, wasSent: wasSent, claimed: claimed, fetching: fetch)
    }

    private mutating func send(_ entry: OutboxDatabase.Entry) async throws {
        var change = entry.change
        if change.sentAt == nil { (change.sentAt, change.sentAfter) = (now, contact.latestTime) }
        let request: (head: HTTPRequest, body: Data?)
        do {
            request = try collection.remote.request(for: change)
        } catch {
            return try await mark(
                entry, as: .refused,
                because: "the app cannot create a request for this change (\(error.userText)): discard the change")
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
        var isItemGone = false
        do {
            let (head, response) = try await collection.transport(request.head, request.body)
            let answer = collection.remote.answer(head, response, to: change.kind)
            if answer == .foreign { failure = RemoteFailure(head, response) } else { contact.note(head) }
            outcome = ResponseOutcome(of: change.kind, head, response, answer: answer, at: now)
            if answer == .done, change.kind == .create || (change.kind == .update && !response.isEmpty) {
                item = try collection.remote.item(head, response)
                if change.kind == .update { try item?.requireID(change.object) }
            }
            // A service also responds with 404 if the user lacks the permission for the change.
            if answer == .gone, change.kind != .create,
                try await collection.remote.item(change.object, fetching: fetch) != nil
            {
                outcome = .refused(
                    "\(head.status.code), although the item exists: this account may lack the permission")
            } else {
                isItemGone = answer == .gone
            }
            // Some services respond with 412 if the item of a conditional request is missing.
            if answer == .refused, change.kind != .create, case .conflict(let why) = outcome,
                try await collection.remote.item(change.object, fetching: fetch) == nil
            {
                outcome = change.kind == .delete ? .done : .conflict("it no longer exists (\(why))")
                isItemGone = true
            }
            // The item may be that of an earlier attempt, or of this one, if a proxy has repeated the request.
            if change.kind == .create, case .conflict = outcome,
                case .done(let found?) = try await collection.remote.standing(
                    of: change, wasSent: true, claimed: try await collection.outbox.claimedIDs(), fetching: fetch)
            {
                (outcome, item) = (.done, found)
            }
        } catch {
            outcome = ResponseOutcome(error, from: collection.remote, at: now)
            failure = error
        }
        if outcome == .done, failure == nil {
            noteResponse()
            try await finish(sending, item)
        } else {
            hasWaited = false
            // A change that was never sent can still be combined with other changes.
            let neverLeft =
                switch outcome {
                case .later, .signIn: failure != nil && !(failure is RemoteFailure)
                default: false
                }
            // If this attempt is only postponed, an earlier one may still take effect.
            let wasSent = entry.pending.state == .unknown || entry.pending.state == .sending
            let stateIfNotDone: ChangeState =
                switch outcome {
                case .later where wasSent, .pause where wasSent, .signIn where wasSent: .unknown
                default: .queued
                }
            try await note(
                outcome, failure, sending, as: neverLeft ? entry.change : change, ifNotDone: stateIfNotDone,
                ifUnknown: .unknown, isItemGone: isItemGone)
        }
        if collection.remote.pause > .zero, !isOver { try await collection.wait(collection.remote.pause) }
    }

    /// Stores the outcome of an attempt: `state` if the service did not apply the change, or `unknownState` if this is
    /// unknown.
    private mutating func note(
        _ outcome: ResponseOutcome, _ error: (any Error)?, _ entry: OutboxDatabase.Entry, as change: Change? = nil,
        ifNotDone state: ChangeState, ifUnknown unknownState: ChangeState, isItemGone: Bool = false
    ) async throws {
        func postpone(_ state: ChangeState, _ why: String, _ wait: Duration?) async throws {
            guard let wait, wait > .zero else {
                // The pause doubles after each failure, up to an hour. A random factor prevents clients from retrying at
                // the same time.
                let pause = Self.backOff(after: entry.pending.attempts) * .random(in: 0.75...1.25)
                return try await mark(entry, as: state, because: why, change, notBefore: now.addingTimeInterval(pause))
            }
            // The service requests the pause for all changes.
            try await mark(entry, as: state, because: why, change)
            try await collection.outbox.pause(
                until: now.addingTimeInterval(Double(wait.components.seconds)), at: now, because: why)
        }
        switch outcome {
        case .done: break
        case .later(let why, let wait): try await postpone(state, why, wait)
        case .unknown(let why, let wait): try await postpone(unknownState, why, wait)
        case .pause(let why, let wait): try await postpone(state, why, wait)
        case .signIn(let why):
            // Keep the state `unknown`, because the service may have applied an earlier attempt.
            try await mark(entry, as: state == .unknown ? .unknown : .waitingForSignIn, because: why, change)
            let known = error as? AccountError
            report.problem = AccountError(
                .notSignedIn, known == nil ? "the service does not accept this session (\(why))" : why,
                hint: known?.hint ?? "sign in again", cause: known == nil ? error : known?.cause)
            isOver = true
        // The service refuses only the check, and may have applied an earlier attempt.
        case .conflict(let why) where state == .unknown, .refused(let why) where state == .unknown:
            try await postpone(.unknown, why, nil)
        case .conflict(let why): try await mark(entry, as: .conflict, because: why, isItemGone: isItemGone)
        case .refused(let why): try await mark(entry, as: .refused, because: why)
        }
        if let error = error as? AccountError, error.isOfThisMachine { throw error }
        await noteSilence(outcome, error, of: entry)
    }

    private mutating func noteResponse() { (silenceCount, hasResponse) = (0, true) }

    /// Ends the run if the service is unreachable, because the requests for other changes would fail too.
    private mutating func noteSilence(
        _ outcome: ResponseOutcome, _ error: (any Error)?, of entry: OutboxDatabase.Entry
    ) async {
        let why: String
        var cannotSend = false
        switch outcome {
        case .later(let words, _):
            // The service itself postponed the request, unless there is an error.
            guard let error else { return noteResponse() }
            (why, cannotSend) = (words, !(error is RemoteFailure))
        case .unknown(let words, _):
            // An error that does not concern the network concerns only this change.
            if let error, !(error is RemoteFailure), !error.isAboutNetwork { return }
            why = words
        default: return noteResponse()
        }
        // If the service has responded to a check, the failure may concern only this change.
        silenceCount = contact.takeResponse() ? 1 : silenceCount + 1
        lastSilence =
            error.flatMap { $0 as? AccountError }?.offline
            ?? AccountError(.serviceUnavailable, "no response from the service: \(why)", cause: error)
        guard !isOver, cannotSend || silenceCount >= Self.maximumSilence else { return }
        if !cannotSend, await isResponding(to: entry) {
            silenceCount = 0
            return
        }
        report.problem = lastSilence
        isOver = true
    }

    /// Stores a change in another state.
    private func mark(
        _ entry: OutboxDatabase.Entry, as state: ChangeState, because why: String, _ change: Change? = nil,
        notBefore: Date? = nil, isItemGone: Bool = false
    ) async throws {
        _ = try await collection.outbox.replace(
            entry,
            with: PendingChange(
                change: change ?? entry.change, state: state, attempts: entry.pending.attempts, lastProblem: why,
                notBefore: notBefore, isItemGone: isItemGone))
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
        guard let failure else { return }
        let known = failure as? AccountError
        if failure is CancellationError || known?.code == .cancelled || known?.isOfThisMachine == true { throw failure }
        try await collection.checkIsCurrent()
        let id = item?.id ?? entry.change.object
        outdatedItem = AccountError(
            .requestRefused,
            "a change of \(id) was sent, but the stored item cannot be updated"
                + (failure.userReason.map { " (\($0))" } ?? ""), cause: failure)
    }

    private func show(_ change: Change, _ item: RemoteItem?) async throws {
        try await collection.checkIsCurrent()
        let id = item?.id ?? change.object
        if change.kind == .delete { try await collection.lists.removeItem(change.object) }
        if let item { try await collection.lists.storeDetail(try await whole(item), at: now) }
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

    /// Returns an item with all its data, or with the data that is available now.
    private func whole(_ item: RemoteItem) async throws -> RemoteItem {
        var whole = item
        // After an error, the app requests the rest when it refreshes the item: the service has applied the change.
        _ = try await collection.complete(&whole, fetching: fetch)
        try await collection.checkIsCurrent()
        return whole
    }

    private func changed(_ item: RemoteItem?, _ change: Change) throws -> RemoteItem? {
        guard let item, let json = try collection.remote.item(item.json, with: change) else { return item }
        return RemoteItem(id: item.id, json: json)
    }
}

extension Error {
    fileprivate var isAboutNetwork: Bool {
        self is AuthorityError || (self as? AccountError)?.code == .serviceUnavailable
    }
}

extension AccountError {
    fileprivate var isOfThisMachine: Bool { [.inaccessible, .busy, .damaged, .insecureContainer].contains(code) }
}
#endif
