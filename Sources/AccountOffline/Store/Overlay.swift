#if Offline
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The unsent changes, which are applied to the items from the service. A dropped change has no effect.
struct Overlay<Remote: RemoteCollection> {
    private let changes: [Change]
    /// The items that the service has created but that the lists may not contain yet. The changes that created these
    /// items are not applied again, and only determine where the lists show the items.
    private let made: [Change.ID: RemoteItem]
    private let remote: Remote

    init(_ entries: [OutboxDatabase.Entry], _ remote: Remote) {
        self.remote = remote
        made = Dictionary(
            uniqueKeysWithValues: entries.compactMap { entry in entry.made.map { (entry.change.id, $0) } })
        var ids: [String: String] = [:]
        for entry in entries where entry.made != nil { ids[entry.change.object] = entry.made?.id }
        changes = entries.map { entry in
            var change = entry.change
            change.object = ids[change.object] ?? change.object
            return change
        }
    }

    func json(of id: String, _ stored: Data?) throws -> Data? {
        var json = stored
        for change in changes where change.object == id {
            if let item = made[change.id] {
                json = json ?? item.json
            } else {
                json = try remote.item(json, with: change)
            }
        }
        return json
    }

    func rows(
        over stored: [ListDatabase.StoredRow], in list: String, isFront: Bool, finding lists: ListDatabase
    ) async throws -> [ListSnapshot<Remote.Item>.Row] {
        var shownFirst: [String] = []
        var hidden: Set<String> = []
        for change in changes {
            switch remote.effect(of: change, on: list) {
            case .none: break
            case .shownFirst:
                hidden.remove(change.object)
                if !shownFirst.contains(change.object) { shownFirst.insert(change.object, at: 0) }
            case .hidden:
                hidden.insert(change.object)
                shownFirst.removeAll { $0 == change.object }
            }
        }
        let changed = Set(changes.filter { made[$0.id] == nil }.map(\.object))
        let decoder = JSONDecoder()
        var rows: [ListSnapshot<Remote.Item>.Row] = []
        rows.reserveCapacity(stored.count + shownFirst.count)
        func add(_ id: String, _ json: Data?, followsGap: Bool) throws {
            guard !hidden.contains(id), let json = try self.json(of: id, json) else { return }
            rows.append(
                .init(
                    id: id, item: try decoder.decode(Remote.Item.self, from: json), isPending: changed.contains(id),
                    followsGap: followsGap))
        }
        for id in shownFirst where isFront && !stored.contains(where: { $0.item.id == id }) {
            try add(id, try await lists.item(id)?.json, followsGap: false)
        }
        var segment: Int?
        for row in stored {
            try add(row.item.id, row.item.json, followsGap: segment != nil && segment != row.segment)
            segment = row.segment
        }
        return rows
    }
}
#endif
