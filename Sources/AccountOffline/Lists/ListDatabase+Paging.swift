#if Offline
import GRDB

/// What the requests for further pages have found: the end of a list, and requests that added no row.
extension ListDatabase {
    /// The end of the first segment, to determine whether a request has extended the list.
    struct Extent: Sendable, Equatable {
        let segment: Int
        let position: Int
        let next: String?
        /// The cursor of the last page, if the positions of the adapter do not fit the pages.
        let page: String?

        /// Whether rows were added at the end. Links to stored rows are no progress, even if the cursors differ.
        func isPast(_ earlier: Extent?) -> Bool {
            guard let earlier, earlier.segment == segment else { return true }
            return position > earlier.position
        }
    }

    func extent(of name: String) async throws -> Extent? {
        try await read { database in
            guard let list = try list(name, database), let top = list.record.segments.first else { return nil }
            let position = try EntryWriter(list: list.number, database).lastPosition(of: top.number)
            return Extent(segment: top.number, position: position, next: top.next, page: top.page)
        }
    }

    /// Returns what is known about the end of a list, if a page without a link to the next page would remove rows that
    /// follow the page. Returns `nil` if it would not.
    func end(_ page: SealedPage, of name: String, isFirst: Bool) async throws -> DoubtfulEnd? {
        try await read { database in
            guard let list = try list(name, database), let top = list.record.segments.first else { return nil }
            let numbers = try page.items.compactMap {
                try Int64.fetchOne(
                    database.cachedStatement(sql: "SELECT n FROM item WHERE key = ?"), arguments: [$0.key])
            }
            let writer = EntryWriter(list: list.number, database)
            if isFirst {
                // If the first page never had a link, it has always been the whole list.
                guard list.record.next != nil, try writer.holdsOthers(than: Set(numbers), after: nil) else {
                    return nil
                }
                return DoubtfulEnd(position: page.items.count, next: list.record.next, segment: nil, lastPosition: 0)
            }
            let (first, last) = try writer.range(of: numbers, in: top.number)
            guard try writer.holdsOthers(than: Set(numbers), after: (top.number, last)) else { return nil }
            let before = try writer.count(in: top.number, before: first)
            return DoubtfulEnd(
                position: before + page.items.count, next: nil, segment: top.number, lastPosition: last)
        }
    }

    /// The end of a list that would remove stored rows.
    struct DoubtfulEnd: Sendable {
        /// The position after the last row of the page.
        let position: Int
        /// The cursor of the next page in an earlier response.
        let next: String?
        fileprivate let segment: Int?
        fileprivate let lastPosition: Int
    }

    /// Returns whether items are not among the rows up to the end, so that the list continues after it.
    func isPast(_ end: DoubtfulEnd, _ page: SealedPage, items: [RemoteItem], of name: String) async throws -> Bool {
        let own = Set(page.items.map(\.id))
        let others = items.map(\.id).filter { !own.contains($0) }
        return try await read { database in
            guard let segment = end.segment, let list = try list(name, database) else { return !others.isEmpty }
            return try others.contains { id in
                guard let place = try place(of: id, list.number, database) else { return true }
                return place.segment != segment || place.position > end.lastPosition
            }
        }
    }

    /// Counts a request that added no row. Returns the number of such requests since the last one that added a row, and since
    /// the user last requested the list.
    func noteIdleRequest(for name: String) async throws -> (recent: Int, all: Int) {
        try await write { database in
            guard var list = try list(name, database) else { return (0, 0) }
            let count = (recent: (list.record.idleCount ?? 0) + 1, all: (list.record.allIdleCount ?? 0) + 1)
            (list.record.idleCount, list.record.allIdleCount) = count
            try save(list, database)
            return count
        }
    }

    /// Stores the cursor of the last page of the first segment, or the end of the list.
    func note(lastPage cursor: String?, isEnd: Bool = false, of name: String) async throws {
        try await write { database in
            guard var list = try list(name, database), !list.record.segments.isEmpty else { return }
            list.record.segments[0].page = cursor
            if isEnd { list.record.segments[0].next = nil }
            try save(list, database)
        }
    }
}
#endif
