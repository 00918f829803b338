#if Offline
public import AccountKit
import AccountSupport
import HTTPTypes

extension OfflineCollection {
    /// The type of the lists in this collection.
    typealias Snapshot = ListSnapshot<Remote.Item>

    /// Returns a stored list with unsent changes, without a request to the service.
    ///
    /// The time to read rows does not depend on their position in the list.
    ///
    /// - Parameters:
    ///   - list: The name of the list.
    ///   - id: The ID of the row after which to begin, which must be an ID from the service. If this row is no longer
    ///     in the list, the result has no rows. `nil` begins at the front, with items that this machine has created.
    ///   - limit: The maximum number of stored rows. Rows that an unsent change removes, and items that cannot be
    ///     decoded, do not count. At the front, the items that this machine has created come in addition.
    public func snapshot(
        of list: String, after id: String? = nil, limit: Int = 30
    ) async throws(AccountError) -> ListSnapshot<Remote.Item> {
        try await errors {
            // Read the outbox before the list, because AccountKit adds a sent change to the list before it removes the
            // change from the outbox.
            let waiting = try await outbox.pending()
            let overlay = Overlay(waiting, remote)
            let (shownFirst, hidden) = overlay.effects(on: list)
            let pending = overlay.changedIDs
            let page = try await lists.page(of: list, after: id, limit: limit, others: id == nil ? shownFirst : []) {
                item, followsGap in
                guard !hidden.contains(item.id) else { return nil as Snapshot.Row? }
                return try overlay.row(
                    item.id, item.json, isPending: pending.contains(item.id), followsGap: followsGap)
            }
            if page.list != nil, !isRecent(page.lastUsed) {
                // Ignore an error: the list is readable even if the disk is full.
                try? await lists.use(list, at: clock.now)
            }
            var snapshot = Snapshot(
                rows: [], asOf: page.list?.asOf, source: .disk, hasMore: page.hasMore,
                unreadableIDs: page.unreadableIDs,
                hasUnidentifiedItems: page.list?.record.unreadableCount ?? 0 > 0, problem: nil)
            for (id, item) in page.others {
                do {
                    let row = try overlay.row(id, item?.json, isPending: pending.contains(id), followsGap: false)
                    if let row { snapshot.rows.append(row) }
                } catch {
                    snapshot.unreadableIDs.append(id)
                }
            }
            snapshot.rows += page.rows
            snapshot.asOf = known(snapshot.asOf)
            if let first = page.list?.record.segments.first, first.next != nil { snapshot.hasMore = true }
            return snapshot
        }
    }

    private func isRecent(_ date: Date?) -> Bool {
        guard let age = date.map({ clock.now.timeIntervalSince($0) }) else { return false }
        return (0..<3600).contains(age)
    }

    /// Returns the date, or `nil` if the clock has been set back since then, so that the age is unknown.
    func known(_ asOf: Date?) -> Date? {
        asOf.flatMap { $0 > clock.now.addingTimeInterval(60) ? nil : $0 }
    }

    /// Requests the first page of a list, and returns the list. If the request fails, this method returns the stored
    /// list.
    ///
    /// - Parameters:
    ///   - list: The name of the list.
    ///   - limit: The maximum number of rows.
    /// - Returns: The list, with the reason in ``ListSnapshot/problem`` if the request failed.
    /// - Throws: An error only if the stored list cannot be read.
    public func refresh(_ list: String, limit: Int = 30) async throws(AccountError) -> ListSnapshot<Remote.Item> {
        var source = Snapshot.Source.disk
        var problem: AccountError?
        do {
            source = try await errors { try await ListReader(collection: self, list: list).refreshFirstPage() }
        } catch {
            problem = error
        }
        var snapshot = try await snapshot(of: list, limit: limit)
        snapshot.source = source
        snapshot.problem = problem
        return snapshot
    }

    /// Requests the page after the stored pages.
    ///
    /// Items that other clients insert or remove between two requests cause neither gaps nor duplicates.
    ///
    /// - Returns: Whether there are more pages.
    /// - Throws: `requestRefused` if the service sends pages without new items, or pages that do not fit together, many times in
    ///   a row, because such a list would never end. The list may be incomplete.
    public func loadMore(of list: String) async throws(AccountError) -> Bool {
        try await errors { try await ListReader(collection: self, list: list).loadMore() }
    }

    /// Requests all pages of a list, and removes the stored rows that are in none of these pages.
    ///
    /// The service sends only the pages that have changed since the last call.
    ///
    /// - Returns: ``ListSnapshot/Source/notModified`` if no page has changed.
    /// - Throws: The errors of ``loadMore(of:)``. After an error, the pages received so far are stored, and the earlier
    ///   rows follow after a gap.
    @discardableResult
    public func refreshAll(_ list: String) async throws(AccountError) -> ListSnapshot<Remote.Item>.Source {
        let sweep = Int64.random(in: 1...Int64.max)
        return try await errors {
            try await ListReader(collection: self, list: list, sweep: sweep).readAll()
            return try await lists.endSweep(sweep, of: list) ? .network : .notModified
        }
    }
}

extension AccountError {
    init(status head: HTTPTypes.HTTPResponse, _ body: Data, _ answer: RemoteAnswer) {
        // As for a creation, a missing item has not necessarily existed: the user may have mistyped its ID.
        self.init(
            ResponseOutcome(of: .create, head, body, answer: answer, at: Date()), status: head.status.code)
    }
}
#endif
