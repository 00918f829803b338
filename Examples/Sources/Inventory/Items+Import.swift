package import AccountKit
import AccountDocuments
import Foundation

/// What an import did with the items of a file.
package struct ImportReport: Sendable, Hashable {
    package var added = 0
    /// The items that existed already, and were not changed.
    package var known = 0
    /// The added items whose ID belongs to another item of the same file.
    package var renamed = 0
}

extension RangeReplaceableCollection where Element == Item {
    /// Adds the items of a file.
    ///
    /// | the item of the file | is |
    /// | --- | --- |
    /// | has no ID that the user can type | added with a new ID |
    /// | has a new ID | added |
    /// | has the ID of an item that existed before | not added |
    /// | has the ID of an earlier item of the file, and the same content as an item | not added |
    /// | has the ID of an earlier item of the file, and other content | added with a new ID |
    ///
    /// The time grows with the sum of both numbers of items.
    ///
    /// - Parameters:
    ///   - imported: The items of the file.
    ///   - file: The name of the file, for messages.
    /// - Throws: `damaged` if an item of the file cannot be stored. In this case, nothing is added.
    package mutating func add(_ imported: [ImportedItem], from file: String) throws(AccountError) -> ImportReport {
        var report = ImportReport()
        var ids: Set<String> = []
        var contents: Set<ItemContent> = []
        for item in self {
            ids.insert(item.id)
            contents.insert(ItemContent(item))
        }
        // A new ID must also differ from the IDs that follow in the file.
        var reserved = ids.union(imported.lazy.compactMap(\.usableID))
        var seen: Set<String> = []
        var new: [Item] = []
        for (index, one) in imported.enumerated() {
            do {
                var item = try Item(one)
                let content = ItemContent(item)
                var id = one.usableID
                if let own = id {
                    let isRepeated = !seen.insert(own).inserted
                    if ids.contains(own) {
                        guard isRepeated, !contents.contains(content) else {
                            report.known += 1
                            continue
                        }
                        report.renamed += 1
                        id = nil
                    }
                }
                item.id = id ?? unusedID(besides: reserved)
                ids.insert(item.id)
                reserved.insert(item.id)
                contents.insert(content)
                new.append(item)
            } catch {
                throw AccountError(
                    .damaged, "item \(index + 1) of \(file): \(error.message). Nothing was imported",
                    hint: "correct the file, and import it again")
            }
        }
        report.added = new.count
        append(contentsOf: new)
        return report
    }

    /// Adds the items of another inventory with their photos, except items that are here already.
    ///
    /// If an item with the same ID has changed since, both are kept.
    mutating func merge(_ others: some Sequence<Item>) {
        var ids: Set<String> = []
        var known: Set<Item> = []
        for item in self {
            ids.insert(item.id)
            known.insert(item)
        }
        for item in others where known.insert(item).inserted {
            var item = item
            if ids.contains(item.id) { item.id = unusedID(besides: ids) }
            ids.insert(item.id)
            append(item)
        }
    }
}

/// What the user knows of an item.
private struct ItemContent: Hashable {
    let name: String
    let serial: String?
    let value: Int?
    let others: OtherKeys

    init(_ item: Item) { (name, serial, value, others) = (item.name, item.serial, item.value, item.others) }
}

/// An unused id of 8 hexadecimal digits.
func unusedID(besides ids: Set<String>) -> String {
    while true {
        let digits = String(UInt32.random(in: .min ... .max), radix: 16)
        let id = String(repeating: "0", count: 8 - digits.count) + digits
        if !ids.contains(id) { return id }
    }
}
