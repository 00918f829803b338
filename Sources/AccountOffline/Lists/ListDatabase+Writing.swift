#if Offline
import AccountCrypto
import AccountSupport
import GRDB

/// The pages that the service sends, and the items that are gone.
extension ListDatabase {
    /// Stores the time at which the service confirmed the first page of a list.
    func touch(_ name: String, next: String?, isPaging: Bool, at date: Date) async throws {
        try await write { database in
            guard var list = try list(name, database) else { return }
            list.asOf = date
            let endsCounts = !isPaging && list.record.hasCounts
            if endsCounts { list.record.endCounts() }
            // A 304 response may contain new links, because links can change without the page. If the response contains
            // no links, keep the stored links.
            if let next, next != list.record.next {
                if let top = list.record.segments.first, top.next == list.record.next {
                    list.record.segments[0].next = next
                }
                list.record.next = next
                try save(list, database)
            } else if endsCounts {
                try save(list, database)
            } else {
                try database.execute(
                    sql: "UPDATE list SET as_of = ? WHERE n = ?", arguments: [date.timeIntervalSince1970, list.number])
            }
        }
    }

    struct Stored: Sendable, Equatable {
        /// Whether the service sent an empty list that AccountKit has not accepted yet.
        var isDoubtful = false
        /// Whether AccountKit has read the list from the front too often to store the page.
        var isEndless = false
        /// Whether the page continues the rows that were stored before it, so that no row can be missing in between.
        var isContiguous = true
        /// The keys of items that are no longer at their previous position, because they were moved to the front or
        /// removed.
        var missing: [Data] = []
        var following = 0
        var next: String?
        /// The number of requests since the last one that added a row.
        var idleCount = 0
    }

    /// Stores the first page of a list. If `missingIsGone` is `true`, this method removes an item that is missing from
    /// the page from all lists.
    func storeFirst(
        _ page: SealedPage, of name: String, isAnew: Bool = false, isAlone: Bool = false, isPaging: Bool = false,
        missingIsGone: Bool, at date: Date
    ) async throws -> Stored {
        try await write { database in
            var list = try listForWriting(name, database)
            let writer = EntryWriter(list: list.number, database)
            if page.items.isEmpty, page.next == nil, try writer.count() > 1 {
                // If the service sends an empty list, keep and show the rows at first, and request the list again.
                let since = min(list.record.emptySince ?? date, date)
                list.record.emptySince = since
                list.record.validators = nil
                if date.timeIntervalSince(since) < 600 {
                    try save(list, database)
                    return Stored(isDoubtful: true)
                }
            }
            let items = try page.items.map(ItemWriter(database).write)
            if isAlone {
                list.record.restartCount = (list.record.restartCount ?? 0) + 1
                list.record.idleRestartCount =
                    try writer.holdsUnchanged(items) ? (list.record.idleRestartCount ?? 0) + 1 : nil
                if list.record.isEndless {
                    try save(list, database)
                    try remove(items.map(\.number), isGone: false, database)
                    return Stored(isEndless: true)
                }
                list.record.idleCount = nil
            } else if !isPaging {
                list.record.endCounts()
            }
            list.record.emptySince = nil
            list.record.validators = page.validators.isEmpty ? nil : page.validators
            list.record.firstPage = Data(page.items.map(\.key).joined())
            list.record.unreadableCount = page.unreadableCount
            list.record.next = page.next
            let missing = try writer.putFirst(
                items, next: page.next, isAnew: isAnew, isAlone: isAlone, &list.record.segments)
            list.asOf = date
            try save(list, database)
            // An item without a readable ID may be one of the missing items.
            let isCertain = page.unreadableCount == 0 && (!isAlone || page.next == nil)
            try remove(missing, isGone: missingIsGone && isCertain, database)
            return Stored(next: list.record.segments.first?.next)
        }
    }

    /// Stores a page that continues the first segment. This method does not store the page if the segment no longer
    /// ends at `cursor` (`nil` for numbered pages), or if the page must overlap the stored rows but does not.
    func storeNext(
        _ page: SealedPage, of name: String, at cursor: String?, mustOverlap: Bool, joinsBelow: Bool
    ) async throws -> Stored {
        try await write { database in
            var list = try listForWriting(name, database)
            // Another process may have stored a new first page, or may have loaded this page itself.
            if let cursor, list.record.segments.first?.next != cursor {
                return Stored(isContiguous: false, next: list.record.segments.first?.next)
            }
            let writer = EntryWriter(list: list.number, database)
            let end = try list.record.segments.first.map { try writer.lastPosition(of: $0.number) }
            let items = try page.items.map(ItemWriter(database).write)
            guard
                let (missing, following) = try writer.append(
                    items, next: page.next, mustOverlap: mustOverlap, joinsBelow: joinsBelow, &list.record.segments)
            else {
                try remove(items.map(\.number), isGone: false, database)
                return Stored(isContiguous: false)
            }
            if let top = list.record.segments.first, let end, try writer.lastPosition(of: top.number) > end {
                list.record.idleCount = nil
            } else if cursor != nil {
                list.record.idleCount = (list.record.idleCount ?? 0) + 1
            }
            if page.unreadableCount > 0 {
                list.record.unreadableCount = (list.record.unreadableCount ?? 0) + page.unreadableCount
            }
            try save(list, database)
            let keys = try (page.unreadableCount > 0 ? [] : missing).compactMap {
                try Data.fetchOne(database, sql: "SELECT key FROM item WHERE n = ?", arguments: [$0])
            }
            try remove(missing, isGone: false, database)
            return Stored(
                missing: keys, following: following, next: list.record.segments.first?.next,
                idleCount: list.record.idleCount ?? 0)
        }
    }

    /// Removes items from all lists, if they are missing from one list and were certainly not moved.
    func removeGone(_ keys: [Data], from name: String) async throws {
        try await write { database in
            guard let list = try list(name, database) else { return }
            for key in keys {
                try database.execute(
                    sql: """
                        DELETE FROM detail WHERE key = ? AND NOT EXISTS (
                            SELECT 1 FROM item JOIN entry ON entry.item = item.n WHERE item.key = detail.key AND entry.list = ?)
                        """, arguments: [key, list.number])
                let number = try Int64.fetchOne(
                    database,
                    sql: """
                        SELECT n FROM item WHERE key = ?
                        AND NOT EXISTS (SELECT 1 FROM entry WHERE item = item.n AND list = ?)
                        """, arguments: [key, list.number])
                if let number { try remove([number], isGone: true, database) }
            }
        }
    }

    private func listForWriting(_ name: String, _ database: Database) throws -> StoredList {
        if let list = try list(name, database) { return list }
        try database.execute(
            sql: "INSERT INTO list(key, sealed) VALUES (?, x'')", arguments: [Data(listKey(name))])
        return StoredList(number: database.lastInsertedRowID, record: ListRecord(name: name))
    }

    func save(_ list: StoredList, _ database: Database) throws {
        let sealed = seal.seal(try JSONEncoder().encode(list.record), type: "list", id: listKey(list.record.name))
        try database.cachedStatement(sql: "UPDATE list SET as_of = ?, sealed = ? WHERE n = ?")
            .execute(arguments: [list.asOf?.timeIntervalSince1970, Data(sealed), list.number])
    }

    /// Removes items from all lists if `isGone` is `true`. Otherwise, this method removes only items that are in no
    /// list.
    func remove(_ items: [Int64], isGone: Bool, _ database: Database) throws {
        for item in items {
            if isGone {
                try database.execute(sql: "DELETE FROM entry WHERE item = ?", arguments: [item])
                try database.execute(
                    sql: "DELETE FROM detail WHERE key = (SELECT key FROM item WHERE n = ?)", arguments: [item])
            }
            try database.cachedStatement(
                sql: "DELETE FROM item WHERE n = ? AND NOT EXISTS (SELECT 1 FROM entry WHERE item = item.n)"
            ).execute(arguments: [item])
        }
    }
}
#endif
