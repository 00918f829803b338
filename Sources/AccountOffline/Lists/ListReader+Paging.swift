#if Offline
import AccountKit
import AccountSupport

/// The pages after the first one.
extension ListReader {
    func readAll() async throws {
        try await restart()
        if hasNumberedPages {
            while try await loadMore() {}
        } else {
            try await followCursors()
        }
    }

    private func followCursors() async throws {
        guard var cursor = try await lists.list(list)?.record.segments.first?.next else { return }
        var page = try await fetchPage(at: cursor)
        while true {
            // Request the next page while storing this page.
            let current = page
            async let following = fetchPage(after: current)
            let stored = try await store(current, at: cursor, mustOverlap: false)
            try await removeGone(stored.missing)
            try checkProgress(stored.idleCount)
            // If another process has changed the list, continue at the new end of the first segment.
            guard let next = stored.next, next != cursor else { return }
            if next == current.next, let following = try await following {
                page = following
            } else {
                page = try await fetchPage(at: next)
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

    /// Requests the page after the stored pages. Returns whether there are more.
    func loadMore() async throws -> Bool {
        guard let stored = try await lists.list(list), let top = stored.record.segments.first else {
            _ = try await refreshFirstPage()
            return try await lists.list(list)?.record.segments.first?.next != nil
        }
        guard let next = top.next else { return false }
        guard hasNumberedPages else {
            let page = try await fetchPage(at: next)
            let stored = try await store(page, at: next, mustOverlap: false)
            try await removeGone(stored.missing)
            try checkProgress(stored.idleCount)
            // If the cursor does not advance, there are no more pages.
            return stored.next != nil && stored.next != next
        }
        let before = try await lists.extent(of: list)
        let missing = top.page == nil ? try await extend() : nil
        let after = try await lists.extent(of: list)
        var isFound = missing != nil
        // A change at the service can also cause one request without progress.
        let isStuck = after?.isPast(before) != true && stored.record.idleCount ?? 0 > 0
        if missing == nil || isStuck, try await followLinks() { isFound = true }
        if isFound {
            try await removeGone(missing ?? [])
            if let end = try await lists.extent(of: list), end.next != nil, !end.isPast(before) {
                let count = try await lists.noteIdleRequest(for: list)
                try checkProgress(count.all < Self.maximumAllIdleCount ? count.recent : Self.maximumIdleCount)
            }
        } else {
            // These pages contain no stored rows, so another search from the stored rows would end at the same position.
            try await restart(isAlone: true)
        }
        return try await lists.list(list)?.record.segments.first?.next != nil
    }

    /// Removes rows that are no longer at their previous position, unless they are now at the front.
    private func removeGone(_ missing: [Data]) async throws {
        guard !missing.isEmpty, remote.isGone(whenMissingFrom: list),
            try await refreshFirstPage(isPaging: true) == .notModified
        else { return }
        try await lists.removeGone(missing, from: list)
    }

    /// Continues the first segment with numbered pages. Returns the rows that are no longer at their previous position,
    /// or `nil` if no page contains rows of the segment.
    private func extend() async throws -> [Data]? {
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
                following = try await fetchPage(at: cursor)
            }
            let page = try await fetchPage(at: own)
            let result = try await store(page, mustOverlap: true)
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
                missing += try await store(following, mustOverlap: false).missing
            } else {
                // The page ends with stored rows at an unexpected position, so request it again after the next page.
                let following = try await fetchPage(at: next)
                let again = try await fetchPage(at: own)
                let isQuiet = again.items.last?.id == last
                missing += try await store(
                    isQuiet ? following : again, mustOverlap: !isQuiet
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
    private func followLinks() async throws -> Bool {
        var cursor = try await lists.extent(of: list)?.page
        var page = try await fetchPage(at: cursor)
        var visited: Set<String> = []
        var tries = 0
        while tries < 5 {
            let result = try await store(page, mustOverlap: true)
            guard result.isContiguous else {
                // Other clients have changed so much that the last page is now elsewhere, so begin at the front.
                guard cursor != nil, visited.isEmpty else { return false }
                cursor = nil
                page = try await fetchPage(at: nil)
                continue
            }
            guard let next = page.next else { return true }
            guard visited.insert(next).inserted else {
                // The links lead in a circle, so there are no further pages.
                try await lists.note(lastPage: cursor, isEnd: true, of: list)
                return true
            }
            let following = try await fetchPage(at: next)
            if result.following == 0 {
                // If the page has changed in the meantime, a row may now be between the two pages.
                let again = try await fetchPage(at: cursor)
                guard again.items.last?.id == page.items.last?.id else {
                    (page, tries) = (again, tries + 1)
                    visited.remove(next)
                    continue
                }
                _ = try await store(following, mustOverlap: false)
                try await lists.note(lastPage: next, of: list)
                return true
            }
            (cursor, page) = (next, following)
        }
        return true
    }
}
#endif
