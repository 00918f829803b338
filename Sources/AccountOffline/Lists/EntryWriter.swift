#if Offline
import GRDB

/// Inserts pages into the segments of a list.
///
/// The anchors of a page determine its place. Anchors are the items that are stored unchanged and in the same order. A
/// changed or reordered item may have moved, so its place does not determine the places of its neighbors.
struct EntryWriter {
    private let list: Int64
    private let database: Database

    init(list: Int64, _ database: Database) {
        self.list = list
        self.database = database
    }

    struct Item {
        let number: Int64
        /// A part of the item's digest. The database stores it for each list, because another list may have stored a
        /// newer version of the item.
        let stamp: Int64
        /// Whether no list contained the item before, so that no search is necessary.
        var isNew = false
    }

    private struct Place {
        let segment: Int
        let position: Int
        let item: Int64
        let stamp: Int64
    }

    func count() throws -> Int {
        try Int.fetchOne(database, sql: "SELECT count(*) FROM entry WHERE list = ?", arguments: [list]) ?? 0
    }

    /// Returns whether the list has all of the items, unchanged.
    func holdsUnchanged(_ items: [Item]) throws -> Bool {
        try items.allSatisfy { item in try !item.isNew && place(of: item.number)?.stamp == item.stamp }
    }

    /// Returns the number of rows of a segment before a position.
    func count(in segment: Int, before position: Int) throws -> Int {
        try Int.fetchOne(
            database, sql: "SELECT count(*) FROM entry WHERE list = ? AND segment = ? AND position < ?",
            arguments: [list, segment, position]) ?? 0
    }

    /// Returns the first and the last position of items in a segment. If the segment contains none of the items, the
    /// result is after all rows.
    func range(of items: [Int64], in segment: Int) throws -> (first: Int, last: Int) {
        let positions = try items.compactMap { try place(of: $0) }.filter { $0.segment == segment }.map(\.position)
        return (positions.min() ?? .max, positions.max() ?? .max)
    }

    /// Returns whether the list has rows after a place, or anywhere, that are not among the items.
    func holdsOthers(than items: Set<Int64>, after place: (segment: Int, position: Int)?) throws -> Bool {
        let rows = try Int64.fetchCursor(
            database, sql: "SELECT item FROM entry WHERE list = ? AND (segment, position) > (?, ?)",
            arguments: [list, place?.segment ?? .min, place?.position ?? .min])
        while let row = try rows.next() {
            if !items.contains(row) { return true }
        }
        return false
    }

    /// Inserts the first page of the service at the front.
    ///
    /// - Parameters:
    ///   - next: The cursor of the next page. If `nil`, this page is the whole list.
    ///   - isAnew: Whether stored rows are not valid until further pages have confirmed them.
    ///   - isAlone: Whether to remove all stored rows.
    /// - Returns: The stored rows in the page's range that the service has removed. If an item had moved, it would be
    ///   at the front.
    func putFirst(
        _ page: [Item], next: String?, isAnew: Bool = false, isAlone: Bool = false,
        _ segments: inout [ListRecord.Segment]
    ) throws -> [Int64] {
        let items = page.map(\.number)
        let numbers = Set(items)
        guard !isAlone, let next, let top = segments.first else {
            let missing = try places("1").map(\.item).filter { !numbers.contains($0) }
            try database.execute(sql: "DELETE FROM entry WHERE list = ?", arguments: [list])
            try insert(page, segment: 0, from: 0)
            segments = [ListRecord.Segment(number: 0, next: next)]
            return missing
        }
        let anchors = isAnew ? [] : try anchors(of: page) { $0 == top.number }
        if let deepest = anchors.last?.position {
            let replaced = try places("segment = \(top.number) AND position <= \(deepest)").map(\.item)
            let missing = replaced.filter { !numbers.contains($0) }
            // If more rows are missing than present, the present rows may be the rows that moved.
            if missing.count < anchors.count {
                try delete(replaced + items)
                try insert(page, segment: top.number, from: deepest - items.count + 1)
                if try places("segment = \(top.number) AND position > \(deepest)").isEmpty { segments[0].next = next }
                try dropEmpty(&segments)
                return missing
            }
        }
        // The page does not reach the stored rows, so the size of the gap is unknown.
        try delete(items)
        try insert(page, segment: top.number - 1, from: 0)
        segments.insert(ListRecord.Segment(number: top.number - 1, next: next), at: 0)
        try dropEmpty(&segments)
        return []
    }

    /// Inserts a page after the first segment.
    ///
    /// - Parameters:
    ///   - next: The cursor of the next page, or `nil` if this page is the last one.
    ///   - joinsBelow: Whether to join the first segment and the segment that the page reaches, so that the app does
    ///     not request that segment again.
    /// - Returns: The stored rows in the page's range that were moved to the front or removed, and the number of rows
    ///   of the segment after the page. `nil` if the page must overlap the stored rows but does not.
    func append(
        _ page: [Item], next: String?, mustOverlap: Bool, joinsBelow: Bool = true,
        _ segments: inout [ListRecord.Segment]
    ) throws -> (missing: [Int64], following: Int)? {
        guard let top = segments.first else { return (try putFirst(page, next: next, &segments), 0) }
        let numbers = Set(page.map(\.number))
        var missing: [Int64] = []
        // The rows of the segment that follow the page.
        var tail: [Item] = []
        var start = try lastPosition(of: top.number) + 1
        let overlap = try anchors(of: page, acceptsChanged: true) { $0 == top.number }
        if let first = overlap.first, let last = overlap.last {
            start = first.position
            let isTailKept = next != nil && last.item == page.last?.number
            let rest = try places("segment = \(top.number) AND position >= \(start)")
            for place in rest where !numbers.contains(place.item) {
                if isTailKept, place.position > last.position {
                    tail.append(Item(number: place.item, stamp: place.stamp))
                } else {
                    missing.append(place.item)
                }
            }
            try delete(rest.map(\.item))
        } else if mustOverlap {
            return nil
        }
        var joined: (segment: ListRecord.Segment, after: Int)?
        if tail.isEmpty {
            if next == nil {
                missing += try places("segment > \(top.number)").map(\.item).filter { !numbers.contains($0) }
            } else if joinsBelow {
                let below = try anchors(of: page) { $0 > top.number }
                if let last = below.last, let segment = segments.first(where: { $0.number == last.segment }) {
                    let passed = try places(
                        "(segment > \(top.number) AND segment < \(last.segment)) "
                            + "OR (segment = \(last.segment) AND position <= \(last.position))"
                    ).map(\.item).filter { !numbers.contains($0) }
                    if passed.count < below.count {
                        missing += passed
                        joined = (segment, last.position)
                    }
                }
            }
            segments[0].next = next
        }
        try delete(missing + page.filter { !$0.isNew }.map(\.number))
        try insert(page + tail, segment: top.number, from: start)
        if let joined {
            let shift = start + page.count - joined.after - 1
            try database.execute(
                sql: """
                    UPDATE entry SET segment = ?, position = position + ? WHERE list = ? AND segment = ? AND position > ?
                    """, arguments: [top.number, shift, list, joined.segment.number, joined.after])
            if database.changesCount > 0 { segments[0].next = joined.segment.next }
        }
        try dropEmpty(&segments)
        return (missing, tail.count)
    }

    func insertFirst(_ item: Item, segment: Int) throws {
        guard try place(of: item.number) == nil else { return }
        let first = try Int.fetchOne(
            database, sql: "SELECT min(position) FROM entry WHERE list = ? AND segment = ?", arguments: [list, segment])
        try insert([item], segment: segment, from: (first ?? 0) - 1)
    }

    /// Returns the largest set of a page's items that are stored unchanged and in the order of the page. If
    /// `acceptsChanged` is `true` and no item is unchanged, several changed items are also accepted.
    private func anchors(
        of page: [Item], acceptsChanged: Bool = false, where isWanted: (_ segment: Int) -> Bool
    ) throws -> [Place] {
        var shared: [Place] = []
        var unchanged: [Place] = []
        for item in page where !item.isNew {
            guard let place = try place(of: item.number), isWanted(place.segment) else { continue }
            shared.append(place)
            if place.stamp == item.stamp { unchanged.append(place) }
        }
        let rise = Self.longestRise(of: unchanged)
        guard rise.isEmpty, acceptsChanged, shared.count > 1 || page.count == 1 else { return rise }
        return Self.longestRise(of: shared)
    }

    /// Returns the longest subsequence of the places that is in the order of the list. If there are several, it returns
    /// the subsequence that ends nearest to the front.
    private static func longestRise(of places: [Place]) -> [Place] {
        // The last place for each length of a subsequence, and the predecessor of each place.
        var ends: [Int] = []
        var before: [Int?] = []
        for (index, place) in places.enumerated() {
            var low = 0
            var high = ends.count
            while low < high {
                let middle = (low + high) / 2
                let end = places[ends[middle]]
                if (end.segment, end.position) < (place.segment, place.position) {
                    low = middle + 1
                } else {
                    high = middle
                }
            }
            before.append(low > 0 ? ends[low - 1] : nil)
            if low == ends.count { ends.append(index) } else { ends[low] = index }
        }
        var rise: [Place] = []
        var index = ends.last
        while let current = index {
            rise.append(places[current])
            index = before[current]
        }
        return rise.reversed()
    }

    private func place(of item: Int64) throws -> Place? {
        let sql = "SELECT segment, position, item, stamp FROM entry WHERE item = ? AND list = ?"
        return try Row.fetchOne(database.cachedStatement(sql: sql), arguments: [item, list]).map { try place($0) }
    }

    private func place(_ row: Row) throws -> Place {
        Place(
            segment: try row.decode(forColumn: "segment"), position: try row.decode(forColumn: "position"),
            item: try row.decode(forColumn: "item"), stamp: try row.decode(forColumn: "stamp"))
    }

    private func places(_ condition: String) throws -> [Place] {
        try Row.fetchAll(
            database,
            sql:
                "SELECT segment, position, item, stamp FROM entry WHERE list = ? AND (\(condition)) ORDER BY segment, position",
            arguments: [list]
        ).map { try place($0) }
    }

    func lastPosition(of segment: Int) throws -> Int {
        let sql = "SELECT max(position) FROM entry WHERE list = ? AND segment = ?"
        return try Int.fetchOne(database.cachedStatement(sql: sql), arguments: [list, segment]) ?? -1
    }

    private func delete(_ items: [Int64]) throws {
        let statement = try database.cachedStatement(sql: "DELETE FROM entry WHERE item = ? AND list = ?")
        for item in items { try statement.bound(to: item, list).execute() }
    }

    private func insert(_ items: [Item], segment: Int, from position: Int) throws {
        let statement = try database.cachedStatement(
            sql: "INSERT INTO entry(list, segment, position, item, stamp) VALUES (?, ?, ?, ?, ?)")
        for (offset, item) in items.enumerated() {
            try statement.bound(to: list, segment, position + offset, item.number, item.stamp).execute()
        }
    }

    private func dropEmpty(_ segments: inout [ListRecord.Segment]) throws {
        var present: [ListRecord.Segment] = []
        for segment in segments {
            let sql = "SELECT EXISTS (SELECT 1 FROM entry WHERE list = ? AND segment = ?)"
            if try Bool.fetchOne(database.cachedStatement(sql: sql), arguments: [list, segment.number]) == true {
                present.append(segment)
            }
        }
        if !present.isEmpty { segments = present }
    }
}
#endif
