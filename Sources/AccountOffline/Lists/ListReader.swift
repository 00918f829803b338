#if Offline
import AccountKit
import AccountSupport
import HTTPTypes

/// Requests the pages of a list, and stores them.
struct ListReader<Remote: RemoteCollection>: Sendable {
    typealias Source = ListSnapshot<Remote.Item>.Source

    let collection: OfflineCollection<Remote>
    let list: String

    /// The pass through the whole list to which the requests belong. In a pass, the service sends only changed pages.
    var sweep: Int64?

    var remote: Remote { collection.remote }
    var lists: ListDatabase { collection.lists }
    var hasNumberedPages: Bool { remote.cursor(ofItemAt: 0) != nil }

    // MARK: The first page

    /// Requests the first page, unless it has not changed.
    ///
    /// - Parameter isPaging: Whether the app requests further pages, so that the counts of idle requests continue.
    func refreshFirstPage(isPaging: Bool = false) async throws -> Source {
        let validators = try await lists.validators(of: list)
        var request = remote.request(for: list, at: nil)
        if let validators { request.add(validators) }
        let (head, body) = try await collection.transport(request, nil)
        guard head.status == .notModified, validators != nil else {
            let page = SealedPage(try page(head, body, at: nil), Validators(head, to: request), lists.seal)
            // The following pages do not belong to a pass through the whole list.
            let filled = try await ListReader(collection: collection, list: list).skippingEmptyPages(page)
            return try await storeFirst(filled, isPaging: isPaging)
        }
        try await collection.checkIsCurrent()
        let links = try remote.page(head, body)
        try await lists.touch(list, next: links.next, isPaging: isPaging, at: collection.clock.now)
        return .notModified
    }

    /// Requests the first page, after which the stored rows follow only when further pages confirm them.
    ///
    /// - Parameter isAlone: Whether to remove the stored rows.
    func restart(isAlone: Bool = false) async throws {
        _ = try await storeFirst(try await fetchPage(at: nil), isAnew: true, isAlone: isAlone)
    }

    private func storeFirst(
        _ page: SealedPage, isAnew: Bool = false, isAlone: Bool = false, isPaging: Bool = false
    ) async throws -> Source {
        let page = try await confirmingEnd(of: page, at: nil, isFirst: true)
        try await collection.checkIsCurrent()
        let stored = try await lists.storeFirst(
            page, of: list, isAnew: isAnew, isAlone: isAlone, isPaging: isPaging,
            missingIsGone: remote.isGone(whenMissingFrom: list), at: collection.clock.now)
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

    // MARK: Any page

    func fetchPage(at cursor: String?) async throws -> SealedPage {
        let page = try await fetchSinglePage(at: cursor)
        return try await skippingEmptyPages(page)
    }

    /// Returns a page, or the next one with items. A service may send an empty page between others, for example after it has
    /// removed items that the user may not see. Numbered pages never end if the service links from each page, even an empty
    /// one, to the next, so the list ends after the fourth empty page in a row.
    private func skippingEmptyPages(_ page: SealedPage) async throws -> SealedPage {
        guard hasNumberedPages else { return page }
        var page = page
        for _ in 1...3 {
            guard page.items.isEmpty, let next = page.next else { break }
            page = try await fetchSinglePage(at: next)
        }
        if page.items.isEmpty { page.next = nil }
        return page
    }

    private func fetchSinglePage(at cursor: String?) async throws -> SealedPage {
        var request = remote.request(for: list, at: cursor)
        var stored = sweep == nil ? nil : try await lists.page(for: Validators.place(of: request), of: list)
        if let stored { request.add(stored.validators) }
        let (head, body) = try await collection.transport(request, nil)
        if head.status == .notModified, stored != nil {
            // A 304 response may contain a new link, because the link can change without the page. If there is no link,
            // keep the stored link.
            if let next = try remote.page(head, body).next { stored?.next = next }
            stored?.isNotModified = true
        } else {
            stored = nil
        }
        let page = try stored ?? SealedPage(try page(head, body, at: cursor), Validators(head, to: request), lists.seal)
        if let sweep {
            try await collection.checkIsCurrent()
            try await lists.note(page, of: list, in: sweep)
        }
        return page
    }

    func fetchPage(after page: SealedPage) async throws -> SealedPage? {
        guard let next = page.next else { return nil }
        return try await fetchPage(at: next)
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

    func store(
        _ page: SealedPage, at cursor: String? = nil, mustOverlap: Bool
    ) async throws -> ListDatabase.Stored {
        let page = try await confirmingEnd(of: page, at: cursor, isFirst: false)
        try await collection.checkIsCurrent()
        return try await lists.storeNext(
            page, of: list, at: cursor, mustOverlap: mustOverlap, joinsBelow: sweep == nil)
    }
    /// Returns the page, with a cursor if the list continues although the response has no link to the next page.
    ///
    /// The end of a list removes the stored rows after it. A proxy or a fault can remove the link from one response, so
    /// such an end needs a second response: the page after it, or the same page again.
    private func confirmingEnd(
        of page: SealedPage, at cursor: String?, isFirst: Bool
    ) async throws -> SealedPage {
        // Another rule handles an unexpectedly empty list.
        guard page.next == nil, !(isFirst && page.items.isEmpty),
            let end = try await lists.end(page, of: list, isFirst: isFirst)
        else { return page }
        var page = page
        if let following = remote.cursor(ofItemAt: end.position) ?? end.next, following != cursor {
            let (head, body) = try await collection.transport(remote.request(for: list, at: following), nil)
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
        let (head, body) = try await collection.transport(remote.request(for: list, at: cursor), nil)
        let again = try self.page(head, body, at: cursor)
        // The empty pages after a list of numbered pages were already skipped.
        if !hasNumberedPages || !again.items.isEmpty { page.next = again.next }
        return page
    }
}
#endif
