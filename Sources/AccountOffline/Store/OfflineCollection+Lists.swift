#if Offline
public import AccountKit
import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

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
            source = try await fetchFirstPage(of: list)
        } catch {
            problem = error
        }
        var snapshot = try await snapshot(of: list, limit: limit)
        snapshot.source = source
        snapshot.problem = problem
        return snapshot
    }

    @discardableResult
    private func fetchFirstPage(
        of list: String, isAnew: Bool = false, isAlone: Bool = false, isPaging: Bool = false, in sweep: Int64? = nil
    ) async throws(AccountError) -> Snapshot.Source {
        try await errors {
            if isAnew {
                let page = try await fetchPage(of: list, at: nil, in: sweep)
                return try await storeFirst(page, of: list, isAnew: true, isAlone: isAlone)
            }
            let validators = try await lists.validators(of: list)
            var request = remote.request(for: list, at: nil)
            if let validators { request.add(validators) }
            let (head, body) = try await transport(request, nil)
            guard head.status == .notModified, validators != nil else {
                let page = lists.sealed(try page(head, body, at: nil), Validators(head, to: request))
                let filled = try await skippingEmptyPages(page, of: list, in: nil)
                return try await storeFirst(filled, of: list, isPaging: isPaging)
            }
            try await checkIsCurrent()
            let links = try remote.page(head, body)
            try await lists.touch(list, next: links.next, isPaging: isPaging, at: clock.now)
            return .notModified
        }
    }

    private func storeFirst(
        _ page: SealedPage, of list: String, isAnew: Bool = false, isAlone: Bool = false, isPaging: Bool = false
    ) async throws -> Snapshot.Source {
        let page = try await confirmingEnd(of: page, in: list, at: nil, isFirst: true)
        try await checkIsCurrent()
        let stored = try await lists.storeFirst(
            page, of: list, isAnew: isAnew, isAlone: isAlone, isPaging: isPaging,
            missingIsGone: remote.isGone(whenMissingFrom: list), at: clock.now)
        guard !stored.isDoubtful else {
            throw AccountError(
                .requestRefused,
                "the service reports that the list is empty; AccountKit keeps the stored rows for now, and the next refresh requests "
                    + "the list again"
            )
        }
        guard !stored.isEndless else {
            throw AccountError(
                .requestRefused,
                "the pages that the service sends do not fit together, however often they are requested: the list may be incomplete"
            )
        }
        return page.isNotModified ? .notModified : .network
    }

    private func page(_ head: HTTPResponse, _ body: Data, at cursor: String?) throws -> RemotePage {
        guard head.status == .ok else { throw AccountError(status: head, body, remote.answer(head, body, to: nil)) }
        var page: RemotePage
        do {
            page = try remote.page(head, body)
        } catch {
            let answer = remote.answer(head, body, to: nil)
            throw answer == .foreign ? AccountError(status: head, body, answer) : error
        }
        guard page.unreadableCount == 0 || !page.items.isEmpty else {
            throw AccountError(.requestRefused, "the service sent only items without a readable ID")
        }
        if page.next == nil {
            page.next = remote.cursor(after: cursor, itemCount: page.items.count + page.unreadableCount, head)
        }
        return page
    }

    private var hasNumberedPages: Bool { remote.cursor(ofItemAt: 0) != nil }

    /// Returns the page, with a cursor if the list continues although the response has no link to the next page.
    ///
    /// The end of a list removes the stored rows after it. A proxy or a fault can remove the link from one response, so
    /// such an end needs a second response: the page after it, or the same page again.
    private func confirmingEnd(
        of page: SealedPage, in list: String, at cursor: String?, isFirst: Bool
    ) async throws -> SealedPage {
        // Another rule handles an unexpectedly empty list.
        guard page.next == nil, !(isFirst && page.items.isEmpty),
            let end = try await lists.end(page, of: list, isFirst: isFirst)
        else { return page }
        var page = page
        if let following = remote.cursor(ofItemAt: end.position) ?? end.next, following != cursor {
            let (head, body) = try await transport(remote.request(for: list, at: following), nil)
            if head.status == .ok {
                let items = try self.page(head, body, at: following).items
                if try await lists.isPast(end, page, items: items, of: list) { page.next = end.next ?? following }
                return page
            }
            // A service may reject the cursor of a page that no longer exists.
            let answer = remote.answer(head, body, to: nil)
            guard answer != .foreign, [400, 404, 410, 416, 422].contains(head.status.code) else {
                throw AccountError(status: head, body, answer)
            }
        }
        guard cursor != nil || isFirst else { return page }
        let (head, body) = try await transport(remote.request(for: list, at: cursor), nil)
        let again = try self.page(head, body, at: cursor)
        // The empty pages after a list of numbered pages were already skipped.
        if !hasNumberedPages || !again.items.isEmpty { page.next = again.next }
        return page
    }

    /// Requests the page after the stored pages.
    ///
    /// Items that other clients insert or remove between two requests cause neither gaps nor duplicates.
    ///
    /// - Returns: Whether there are more pages.
    /// - Throws: `requestRefused` if the service sends pages without new items, or pages that do not fit together, many times in
    ///   a row, because such a list would never end. The list may be incomplete.
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
    public func refreshAll(_ list: String) async throws(AccountError) -> ListSnapshot<Remote.Item>.Source {
        let sweep = Int64.random(in: 1...Int64.max)
        try await fetchFirstPage(of: list, isAnew: true, in: sweep)
        if !hasNumberedPages {
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
            try checkProgress(stored.idleCount)
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

    /// The number of requests without a new row after which a list counts as endless.
    private static var maximumIdleCount: Int { 20 }

    /// The same for all requests since the user last requested the list, because rows may come and go.
    private static var maximumAllIdleCount: Int { 50 }

    private func checkProgress(_ idleCount: Int) throws(AccountError) {
        guard idleCount >= Self.maximumIdleCount else { return }
        throw AccountError(
            .requestRefused, "the service sends page after page without new items: the list may be incomplete")
    }

    private func loadMore(of list: String, in sweep: Int64?) async throws(AccountError) -> Bool {
        try await errors {
            guard let stored = try await lists.list(list), let top = stored.record.segments.first else {
                _ = try await fetchFirstPage(of: list)
                return try await lists.list(list)?.record.segments.first?.next != nil
            }
            guard let next = top.next else { return false }
            guard hasNumberedPages else {
                let page = try await fetchPage(of: list, at: next, in: sweep)
                let stored = try await store(page, of: list, in: sweep, at: next, mustOverlap: false)
                try await removeGone(stored.missing, from: list)
                try checkProgress(stored.idleCount)
                // If the cursor does not advance, there are no more pages.
                return stored.next != nil && stored.next != next
            }
            let before = try await lists.extent(of: list)
            let missing = top.page == nil ? try await extend(list, in: sweep) : nil
            let after = try await lists.extent(of: list)
            var isFound = missing != nil
            // A change at the service can also cause one request without progress.
            let isStuck = after?.isPast(before) != true && stored.record.idleCount ?? 0 > 0
            if missing == nil || isStuck, try await followLinks(of: list, in: sweep) { isFound = true }
            if isFound {
                try await removeGone(missing ?? [], from: list)
                if let end = try await lists.extent(of: list), end.next != nil, !end.isPast(before) {
                    let count = try await lists.noteIdleRequest(for: list)
                    try checkProgress(count.all < Self.maximumAllIdleCount ? count.recent : Self.maximumIdleCount)
                }
            } else {
                // These pages contain no stored rows, so another search from the stored rows would end at the same position.
                _ = try await fetchFirstPage(of: list, isAnew: true, isAlone: true, in: sweep)
            }
            return try await lists.list(list)?.record.segments.first?.next != nil
        }
    }

    /// Removes rows that are no longer at their previous position, unless they are now at the front.
    private func removeGone(_ missing: [Data], from list: String) async throws {
        guard !missing.isEmpty, remote.isGone(whenMissingFrom: list),
            try await fetchFirstPage(of: list, isPaging: true) == .notModified
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
                // If the page has fewer items than its cursor promises, the service limits its pages, so follow its links.
                if remote.cursor(ofItemAt: position + page.items.count) == own { return nil }
                // Other clients have inserted so many items that the end is further down.
                position += result.following
                continue
            }
            guard let next = result.next, page.items.last?.id == last else { return missing }
            // If the cursor of the position is not the link of the page, the pages of the service have another size.
            if let following, next == remote.cursor(ofItemAt: position + 1) {
                missing += try await store(following, of: list, in: sweep, mustOverlap: false).missing
            } else {
                // The page ends with stored rows at an unexpected position, so request it again after the next page.
                let following = try await fetchPage(of: list, at: next, in: sweep)
                let again = try await fetchPage(of: list, at: own, in: sweep)
                let isQuiet = again.items.last?.id == last
                missing += try await store(
                    isQuiet ? following : again, of: list, in: sweep, mustOverlap: !isQuiet
                ).missing
                // The next pages are where the links lead, not where the adapter expects them.
                if isQuiet, !following.items.isEmpty { try await lists.note(lastPage: next, of: list) }
            }
            return missing
        }
        return nil
    }

    /// Continues the first segment with the links of the service, if the pages do not fit the positions of the adapter:
    /// a service may send fewer items than requested.
    ///
    /// Rows that are no longer at their previous position are removed only from this list, because an app that follows
    /// links does not know whether it has seen all pages.
    ///
    /// - Returns: Whether the pages contain rows of the segment.
    private func followLinks(of list: String, in sweep: Int64?) async throws -> Bool {
        var cursor = try await lists.extent(of: list)?.page
        var page = try await fetchPage(of: list, at: cursor, in: sweep)
        var visited: Set<String> = []
        var tries = 0
        while tries < 5 {
            let result = try await store(page, of: list, in: sweep, mustOverlap: true)
            guard result.isContiguous else {
                // Other clients have changed so much that the last page is now elsewhere, so begin at the front.
                guard cursor != nil, visited.isEmpty else { return false }
                cursor = nil
                page = try await fetchPage(of: list, at: nil, in: sweep)
                continue
            }
            guard let next = page.next else { return true }
            guard visited.insert(next).inserted else {
                // The links lead in a circle, so there are no further pages.
                try await lists.note(lastPage: cursor, isEnd: true, of: list)
                return true
            }
            let following = try await fetchPage(of: list, at: next, in: sweep)
            if result.following == 0 {
                // If the page has changed in the meantime, a row may now be between the two pages.
                let again = try await fetchPage(of: list, at: cursor, in: sweep)
                guard again.items.last?.id == page.items.last?.id else {
                    (page, tries) = (again, tries + 1)
                    visited.remove(next)
                    continue
                }
                _ = try await store(following, of: list, in: sweep, mustOverlap: false)
                try await lists.note(lastPage: next, of: list)
                return true
            }
            (cursor, page) = (next, following)
        }
        return true
    }

    /// - Parameter sweep: The pass through the whole list to which the page belongs, for conditional requests.
    private func fetchPage(of list: String, at cursor: String?, in sweep: Int64?) async throws -> SealedPage {
        let page = try await fetchSinglePage(of: list, at: cursor, in: sweep)
        return try await skippingEmptyPages(page, of: list, in: sweep)
    }

    /// Returns a page, or the next one with items. A service may send an empty page between others, for example after it has
    /// removed items that the user may not see. Numbered pages never end if the service links from each page, even an empty
    /// one, to the next, so the list ends after the fourth empty page in a row.
    private func skippingEmptyPages(
        _ page: SealedPage, of list: String, in sweep: Int64?
    ) async throws -> SealedPage {
        guard hasNumberedPages else { return page }
        var page = page
        for _ in 1...3 {
            guard page.items.isEmpty, let next = page.next else { break }
            page = try await fetchSinglePage(of: list, at: next, in: sweep)
        }
        if page.items.isEmpty { page.next = nil }
        return page
    }

    private func fetchSinglePage(of list: String, at cursor: String?, in sweep: Int64?) async throws -> SealedPage {
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
        let page = try stored ?? lists.sealed(try page(head, body, at: cursor), Validators(head, to: request))
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
        let page = try await confirmingEnd(of: page, in: list, at: cursor, isFirst: false)
        try await checkIsCurrent()
        return try await lists.storeNext(
            page, of: list, at: cursor, mustOverlap: mustOverlap, joinsBelow: sweep == nil)
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
