#if Offline
public import AccountKit
import HTTPTypes

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension OfflineCollection {
    /// The type of the lists in this collection.
    public typealias Snapshot = ListSnapshot<Remote.Item>

    /// Returns a stored list with unsent changes, without a request to the service.
    ///
    /// The time to read rows does not depend on their position in the list.
    ///
    /// - Parameters:
    ///   - list: The name of the list.
    ///   - id: The ID of the row after which to begin, which must be an ID from the service. If this row is no longer
    ///     in the list, the result has no rows. `nil` begins at the front, with items that this machine has created.
    ///   - limit: The maximum number of rows.
    public func snapshot(
        of list: String, after id: String? = nil, limit: Int = 30
    ) async throws(AccountError) -> Snapshot {
        try await errors {
            // Read the outbox before the list, because AccountKit adds a sent change to the list before it removes the
            // change from the outbox.
            let waiting = try await outbox.pending()
            var page = try await lists.page(of: list, after: id, limit: limit + 1)
            let hasMore = page.rows.count > limit
            if hasMore { page.rows.removeLast() }
            if page.list != nil, !isRecent(page.lastUsed) {
                // Ignore an error: the list is readable even if the disk is full.
                try? await lists.use(list, at: clock.now)
            }
            var snapshot = Snapshot(
                rows: try await Overlay(waiting, remote).rows(
                    over: page.rows, in: list, isFront: id == nil, finding: lists),
                asOf: page.list?.asOf, source: .disk, hasMore: hasMore, problem: nil)
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
    private func known(_ asOf: Date?) -> Date? {
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
    public func refresh(_ list: String, limit: Int = 30) async throws(AccountError) -> Snapshot {
        var source = Snapshot.Source.disk
        var problem: AccountError?
        do {
            source = try await fetchFirstPage(of: list)
        } catch {
            problem = error
        }
        var snapshot = try await snapshot(of: list, limit: limit)
        snapshot.source = source
        snapshot.problem = problem
        return snapshot
    }

    /// Returns a stream that yields the stored list, and then the list from the service.
    ///
    /// - Parameters:
    ///   - list: The name of the list.
    ///   - limit: The maximum number of rows.
    public func list(_ list: String, limit: Int = 30) -> AsyncThrowingStream<Snapshot, any Error> {
        let (stream, continuation) = AsyncThrowingStream.makeStream(of: Snapshot.self)
        let task = Task {
            do {
                continuation.yield(try await snapshot(of: list, limit: limit))
                continuation.yield(try await refresh(list, limit: limit))
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    @discardableResult
    private func fetchFirstPage(
        of list: String, isAnew: Bool = false, isAlone: Bool = false, in sweep: Int64? = nil
    ) async throws(AccountError) -> Snapshot.Source {
        try await errors {
            if isAnew {
                let page = try await fetchPage(of: list, at: nil, in: sweep)
                return try await storeFirst(page, of: list, isAnew: true, isAlone: isAlone)
            }
            let validators = try await lists.list(list)?.record.validators
            var request = remote.request(for: list, at: nil)
            if let validators { request.add(validators) }
            let (head, body) = try await transport(request, nil)
            guard head.status == .notModified, validators != nil else {
                let page = lists.sealed(try page(head, body), Validators(head, to: request))
                return try await storeFirst(page, of: list)
            }
            try await checkIsCurrent()
            let links = try remote.page(head, body)
            try await lists.touch(list, next: links.next, at: clock.now)
            return .notModified
        }
    }

    private func storeFirst(
        _ page: SealedPage, of list: String, isAnew: Bool = false, isAlone: Bool = false
    ) async throws -> Snapshot.Source {
        try await checkIsCurrent()
        let stored = try await lists.storeFirst(
            page, of: list, isAnew: isAnew, isAlone: isAlone,
            missingIsGone: remote.isGone(whenMissingFrom: list), at: clock.now)
        guard !stored.isDoubtful else {
            throw AccountError(
                .requestFailed,
                "the service reports that the list is empty; AccountKit keeps the stored rows for now, and the next refresh requests "
                    + "the list again"
            )
        }
        return page.isNotModified ? .notModified : .network
    }

    private func page(_ head: HTTPResponse, _ body: Data) throws -> RemotePage {
        guard head.status == .ok else { throw AccountError(status: head, body, remote.answer(head, body, to: nil)) }
        do {
            return try remote.page(head, body)
        } catch {
            let answer = remote.answer(head, body, to: nil)
            throw answer == .foreign ? AccountError(status: head, body, answer) : error
        }
    }

    /// Requests the page after the stored pages.
    ///
    /// Items that other clients insert or remove between two requests cause neither gaps nor duplicates.
    ///
    /// - Returns: Whether there are more pages.
    public func loadMore(of list: String) async throws(AccountError) -> Bool {
        try await loadMore(of: list, in: nil)
    }

    /// Requests all pages of a list, and removes the stored rows that are in none of these pages.
    ///
    /// The service sends only the pages that have changed since the last call.
    ///
    /// - Returns: ``ListSnapshot/Source/notModified`` if no page has changed.
    /// - Throws: The errors of ``loadMore(of:)``. After an error, the pages received so far are stored, and the earlier
    ///   rows follow after a gap.
    @discardableResult
    public func refreshAll(_ list: String) async throws(AccountError) -> Snapshot.Source {
        let sweep = Int64.random(in: 1...Int64.max)
        try await fetchFirstPage(of: list, isAnew: true, in: sweep)
        if remote.cursor(ofItemAt: 0) == nil {
            try await errors { try await followCursors(of: list, in: sweep) }
        } else {
            while try await loadMore(of: list, in: sweep) {}
        }
        return try await errors { try await lists.endSweep(sweep, of: list) ? .network : .notModified }
    }

    private func followCursors(of list: String, in sweep: Int64) async throws {
        guard var cursor = try await lists.list(list)?.record.segments.first?.next else { return }
        var page = try await fetchPage(of: list, at: cursor, in: sweep)
        while true {
            // Request the next page while storing this page.
            let current = page
            async let following = fetchPage(of: list, after: current, in: sweep)
            let stored = try await store(current, of: list, in: sweep, at: cursor, mustOverlap: false)
            try await removeGone(stored.missing, from: list)
            // If another process has changed the list, continue at the new end of the first segment.
            guard let next = stored.next, next != cursor else { return }
            if next == current.next, let following = try await following {
                page = following
            } else {
                page = try await fetchPage(of: list, at: next, in: sweep)
            }
            cursor = next
        }
    }

    private func loadMore(of list: String, in sweep: Int64?) async throws(AccountError) -> Bool {
        try await errors {
            guard let stored = try await lists.list(list), let top = stored.record.segments.first else {
                _ = try await fetchFirstPage(of: list)
                return try await lists.list(list)?.record.segments.first?.next != nil
            }
            guard let next = top.next else { return false }
            var missing: [Data] = []
            if remote.cursor(ofItemAt: 0) == nil {
                let page = try await fetchPage(of: list, at: next, in: sweep)
                let stored = try await store(page, of: list, in: sweep, at: next, mustOverlap: false)
                try await removeGone(stored.missing, from: list)
                // If the cursor does not advance, there are no more pages.
                return stored.next != nil && stored.next != next
            } else if let taken = try await extend(list, in: sweep) {
                missing = taken
            } else {
                // These pages contain no stored rows, so another search from the stored rows would end at the same position.
                _ = try await fetchFirstPage(of: list, isAnew: true, isAlone: true, in: sweep)
            }
            try await removeGone(missing, from: list)
            return try await lists.list(list)?.record.segments.first?.next != nil
        }
    }

    /// Removes rows that are no longer at their previous position, unless they are now at the front.
    private func removeGone(_ missing: [Data], from list: String) async throws {
        guard !missing.isEmpty, remote.isGone(whenMissingFrom: list),
            try await fetchFirstPage(of: list) == .notModified
        else { return }
        try await lists.removeGone(missing, from: list)
    }

    /// Continues the first segment with numbered pages. Returns the rows that are no longer at their previous position,
    /// or `nil` if no page contains rows of the segment.
    private func extend(_ list: String, in sweep: Int64?) async throws -> [Data]? {
        var position = try await lists.count(of: list).first - 1
        var missing: [Data] = []
        var tried: Set<Int> = []
        // After a loop or too many steps, it is safer to begin at the front.
        while position >= 0, tried.count < 20, tried.insert(position).inserted,
            let own = remote.cursor(ofItemAt: position)
        {
            let last = try await lists.last(of: list)
            // Request the next page first. The overlapping page, which is requested later, then shows whether items
            // were removed in between.
            var following: SealedPage?
            if let cursor = remote.cursor(ofItemAt: position + 1), cursor != own {
                following = try await fetchPage(of: list, at: cursor, in: sweep)
            }
            let page = try await fetchPage(of: list, at: own, in: sweep)
            let result = try await store(page, of: list, in: sweep, mustOverlap: true)
            guard result.isContiguous else {
                // Other clients have removed so many items that the page begins further down, so try a page further up.
                position -= max(page.items.count, 1)
                continue
            }
            missing += result.missing
            if result.following > 0 {
                // Other clients have inserted so many items that the end is further down.
                position += result.following
                continue
            }
            guard page.next != nil, page.items.last?.id == last else { return missing }
            if let following {
                missing += try await store(following, of: list, in: sweep, mustOverlap: false).missing
            } else if let cursor = page.next {
                // The page ends with stored rows at an unexpected position, so request it again after the next page.
                let following = try await fetchPage(of: list, at: cursor, in: sweep)
                let again = try await fetchPage(of: list, at: own, in: sweep)
                let isQuiet = again.items.last?.id == last
                missing += try await store(
                    isQuiet ? following : again, of: list, in: sweep, mustOverlap: !isQuiet
                ).missing
            }
            return missing
        }
        return nil
    }

    /// - Parameter sweep: The pass through the whole list to which the page belongs, for conditional requests.
    private func fetchPage(of list: String, at cursor: String?, in sweep: Int64?) async throws -> SealedPage {
        var request = remote.request(for: list, at: cursor)
        var stored = sweep == nil ? nil : try await lists.page(for: Validators.place(of: request), of: list)
        if let stored { request.add(stored.validators) }
        let (head, body) = try await transport(request, nil)
        if head.status == .notModified, stored != nil {
            // A 304 response may contain a new link, because the link can change without the page. If there is no link,
            // keep the stored link.
            if let next = try remote.page(head, body).next { stored?.next = next }
            stored?.isNotModified = true
        } else {
            stored = nil
        }
        let page = try stored ?? lists.sealed(try page(head, body), Validators(head, to: request))
        if let sweep {
            try await checkIsCurrent()
            try await lists.note(page, of: list, in: sweep)
        }
        return page
    }

    private func fetchPage(of list: String, after page: SealedPage, in sweep: Int64?) async throws -> SealedPage? {
        guard let next = page.next else { return nil }
        return try await fetchPage(of: list, at: next, in: sweep)
    }

    private func store(
        _ page: SealedPage, of list: String, in sweep: Int64?, at cursor: String? = nil, mustOverlap: Bool
    ) async throws -> ListDatabase.Stored {
        try await checkIsCurrent()
        return try await lists.storeNext(
            page, of: list, at: cursor, mustOverlap: mustOverlap, joinsBelow: sweep == nil)
    }

    // MARK: One item

    /// Returns a stored item with unsent changes. If the app has never requested the item itself, this is the item from
    /// a list.
    ///
    /// - Parameter id: The ID from the service or from this machine.
    /// - Returns: The item, or `nil` if this machine does not have it or if an unsent change removes it.
    public func item(_ id: String) async throws(AccountError) -> Remote.Item? {
        try await errors {
            let id = try await outbox.serviceID(of: id) ?? id
            let overlay = Overlay(try await outbox.pending(), remote)
            var stored = try await lists.detail(of: id)?.item
            if stored == nil { stored = try await lists.item(id) }
            guard let json = try overlay.json(of: id, stored?.json) else { return nil }
            return try JSONDecoder().decode(Remote.Item.self, from: json)
        }
    }

    /// Requests all data of an item, and stores the data.
    ///
    /// - Throws: `requestFailed` with the service's explanation, for example if the item was deleted;
    ///   `serviceUnavailable` if the service is unreachable.
    public func refreshItem(_ id: String) async throws(AccountError) {
        try await errors {
            let id = try await outbox.serviceID(of: id) ?? id
            guard !id.hasPrefix(Change.localPrefix) else { return }
            let (head, body) = try await transport(remote.request(forItem: id), nil)
            try await checkIsCurrent()
            let answer = remote.answer(head, body, to: nil)
            // Keep the item that an unsent change is about: the user may want to create it again.
            if answer == .gone, try await !outbox.pending().contains(where: { $0.change.object == id }) {
                try await lists.removeItem(id)
            }
            guard answer == .done, head.status == .ok else { throw AccountError(status: head, body, answer) }
            try await lists.storeDetail(try remote.item(head, body), at: clock.now)
        }
    }

    /// Returns the service's ID of an item that this machine has created. For other items, and until the service has
    /// assigned an ID, this method returns `id`.
    public func currentID(of id: String) async throws(AccountError) -> String {
        try await errors { try await outbox.serviceID(of: id) ?? id }
    }

    /// A stored list.
    public struct StoredList: Sendable, Hashable {
        /// The name of the list.
        public let name: String

        /// The number of rows.
        public let count: Int

        /// The date of the last request, or `nil` if the date is unknown.
        public let asOf: Date?

        /// The size of the rows on the disk, in bytes. A row in several lists counts in each list.
        public let byteCount: Int
    }

    /// Returns the stored lists.
    public func storedLists() async throws(AccountError) -> [StoredList] {
        try await errors {
            var found: [StoredList] = []
            for list in try await lists.all() {
                let name = list.record.name
                found.append(
                    StoredList(
                        name: name, count: try await lists.count(of: name).all, asOf: known(list.asOf),
                        byteCount: try await lists.byteCount(of: name)))
            }
            return found
        }
    }
}

extension AccountError {
    init(status head: HTTPTypes.HTTPResponse, _ body: Data, _ answer: RemoteAnswer) {
        self.init(
            ResponseOutcome(of: .update, head, body, answer: answer, at: Date()), status: head.status.code)
    }
}
#endif
