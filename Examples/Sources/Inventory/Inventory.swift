import AccountDocuments
package import AccountKit
import Terminal

/// The document `Items.plist`: an array of items, or a dictionary of another program with the items in "items".
package struct Inventory<Element: Codable & Sendable>: Codable, Sendable {
    package var items: [Element]

    /// The other members if the document is a dictionary; `nil` if it is an array.
    private var others: OtherKeys?

    private enum CodingKeys: CodingKey, CaseIterable { case items }

    package init(_ items: [Element] = []) {
        self.items = items
        others = nil
    }

    package init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: CodingKeys.self) {
            items = try container.decode([Element].self, forKey: .items)
            others = try OtherKeys(in: decoder, besides: CodingKeys.self)
        } else {
            items = try [Element](from: decoder)
            others = nil
        }
    }

    package func encode(to encoder: any Encoder) throws {
        guard let others else { return try items.encode(to: encoder) }
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(items, forKey: .items)
        try others.encode(to: encoder)
    }
}

extension Inventory where Element == Item {
    /// The index of an item.
    ///
    /// - Throws: `invalidArgument` if no item has this id.
    package func index(of id: String) throws(AccountError) -> Int {
        guard let index = items.firstIndex(where: { $0.id == id }) else {
            throw AccountError(.invalidArgument, "there is no item \"\(id.shown)\": `homepwner list` shows all")
        }
        return index
    }

    /// Adds the items and the other members of another inventory of this tool, except what is here already.
    package mutating func merge(_ other: Inventory) {
        items.merge(other.items)
        if let new = other.others { others = (others ?? OtherKeys()).merging(new) }
    }

    /// An unused id.
    package func newID() -> String { unusedID(besides: Set(items.lazy.map(\.id))) }
}
