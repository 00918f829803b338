#if Offline
import GRDB

/// Puts pages into the segments of a list.
struct EntryWriter {
    private let list: Int64
    private let database: Database

    init(list: Int64, _ database: Database) {
        self.list = list
        self.database = database
    }

    private struct Place {
        let segment: Int
        let position: Int
        let item: Int64
    }

    func count() throws -> Int {
        try Int.fetchOne(database, sql: "SELECT count(*) FROM entry WHERE list = ?", arguments: [list]) ?? 0
    }

    /// Puts the first page of the service in front.
    ///
    /// - Parameters:
    ///   - items: The page.
    ///   - next: Where the page after it is; `nil` makes this page the whole list.
    ///   - segments: What the list has.
    /// - Returns: What stood where the page is now, and is not in it.
    func putFirst(
        _ items: [Int64], next: String?, _ segments: inout [ListRecord.Segment]
    ) throws -> [Int64] {
        guard let next, let top = segments.first else {
            let missing = try places("1").map(\.item).filter { !items.contains($0) }
            try database.execute(sql: "DELETE FROM entry WHERE list = ?", arguments: [list])
            try insert(items, segment: 0, from: 0)
            segments = [ListRecord.Segment(number: 0, next: next)]
            return missing
        }
        let shared = try places(of: items).filter { $0.segment == top.number }
        guard let deepest = shared.map(\.position).max() else {
            // It does not reach what is there: how much is in between, nobody knows yet.
            try delete(items)
            try insert(items, segment: top.number - 1, from: 0)
            segments.insert(ListRecord.Segment(number: top.number - 1, next: next), at: 0)
            try dropEmpty(&segments)
            return []
        }
        let replaced = try places("segment = \(top.number) AND position <= \(deepest)").map(\.item)
        try delete(replaced + items)
        try insert(items, segment: top.number, from: deepest - items.count + 1)
        if try places("segment = \(top.number) AND position > \(deepest)").isEmpty { segments[0].next = next }
        try dropEmpty(&segments)
        return replaced.filter { !items.contains($0) }
    }

    /// Puts a page behind the first segment.
    ///
    /// - Parameters:
    ///   - items: The page.
    ///   - next: Where the page after it is; `nil` if the list ends with it.
    ///   - mustOverlap: Whether the page must have a part of the segment.
    ///   - segments: What the list has.
    /// - Returns: What stood where the page is now, and is not in it; `nil` if it had to overlap, and does not.
    func append(
        _ items: [Int64], next: String?, mustOverlap: Bool, _ segments: inout [ListRecord.Segment]
    ) throws -> [Int64]? {
        guard let top = segments.first else { return try putFirst(items, next: next, &segments) }
        let shared = try places(of: items)
        let overlap = shared.filter { $0.segment == top.number }.map(\.position).min()
        if mustOverlap, overlap == nil { return nil }
        var replaced: [Int64] = []
        if let overlap { replaced = try places("segment = \(top.number) AND position >= \(overlap)").map(\.item) }
        // The segment that the page reaches becomes a part of this one.
        let below = shared.filter { $0.segment != top.number }.max {
            ($0.segment, $0.position) < ($1.segment, $1.position)
        }
        if let below {
            replaced += try places(
                "(segment > \(top.number) AND segment < \(below.segment)) "
                    + "OR (segment = \(below.segment) AND position <= \(below.position))"
            ).map(\.item)
        }
        if next == nil { replaced += try places("segment > \(top.number)").map(\.item) }
        try delete(replaced + items)
        var end = try lastPosition(of: top.number)
        try insert(items, segment: top.number, from: end + 1)
        end += items.count
        segments[0].next = next
        if let below, next != nil {
            let rest = try places("segment = \(below.segment)")
            if !rest.isEmpty {
                try delete(rest.map(\.item))
                try insert(rest.map(\.item), segment: top.number, from: end + 1)
                segments[0].next = segments.first { $0.number == below.segment }?.next
            }
        }
        try dropEmpty(&segments)
        return replaced.filter { !items.contains($0) }
    }

    /// Puts an item before all others, if it is not there.
    func insertFirst(_ item: Int64, segment: Int) throws {
        guard try places(of: [item]).isEmpty else { return }
        let first = try Int.fetchOne(
            database, sql: "SELECT min(position) FROM entry WHERE list = ? AND segment = ?", arguments: [list, segment])
        try insert([item], segment: segment, from: (first ?? 0) - 1)
    }

    private func places(_ condition: String) throws -> [Place] {
        try Row.fetchAll(
            database,
            sql:
                "SELECT segment, position, item FROM entry WHERE list = ? AND (\(condition)) ORDER BY segment, position",
            arguments: [list]
        ).map { Place(segment: $0["segment"], position: $0["position"], item: $0["item"]) }
    }

    private func places(of items: [Int64]) throws -> [Place] {
        items.isEmpty ? [] : try places("item IN (\(items.map(String.init).joined(separator: ",")))")
    }

    private func lastPosition(of segment: Int) throws -> Int {
        try Int.fetchOne(
            database, sql: "SELECT max(position) FROM entry WHERE list = ? AND segment = ?", arguments: [list, segment])
            ?? -1
    }

    private func delete(_ items: [Int64]) throws {
        for item in items {
            try database.execute(sql: "DELETE FROM entry WHERE list = ? AND item = ?", arguments: [list, item])
        }
    }

    private func insert(_ items: [Int64], segment: Int, from position: Int) throws {
        for (offset, item) in items.enumerated() {
            try database.execute(
                sql: "INSERT INTO entry(list, segment, position, item) VALUES (?, ?, ?, ?)",
                arguments: [list, segment, position + offset, item])
        }
    }

    /// Segments of which nothing is left are none.
    private func dropEmpty(_ segments: inout [ListRecord.Segment]) throws {
        let present = Set(
            try Int.fetchAll(database, sql: "SELECT DISTINCT segment FROM entry WHERE list = ?", arguments: [list]))
        if !present.isEmpty { segments.removeAll { !present.contains($0.number) } }
    }
}
#endif
