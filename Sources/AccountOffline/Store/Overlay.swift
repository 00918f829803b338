#if Offline
import AccountSupport

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

    /// Returns the items that a list shows first, and the items that it hides.
    func effects(on list: String) -> (shownFirst: [String], hidden: Set<String>) {
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
        return (shownFirst, hidden)
    }

    /// The items that contain unsent changes.
    var changedIDs: Set<String> { Set(changes.filter { made[$0.id] == nil }.map(\.object)) }

    /// Returns a row, or `nil` if the changes remove the item.
    ///
    /// - Throws: An error if the item cannot be decoded.
    func row(
        _ id: String, _ stored: Data?, isPending: Bool, followsGap: Bool
    ) throws -> ListSnapshot<Remote.Item>.Row? {
        guard let json = try json(of: id, stored) else { return nil }
        return .init(
            id: id, item: try JSONDecoder().decode(Remote.Item.self, from: json), isPending: isPending,
            followsGap: followsGap)
    }
}
#endif
