#if Offline
import AccountKit
import GRDB
import AccountCrypto
import AccountSupport

/// The pages of whole lists, stored so that the service does not send unchanged pages again. The record of a page
/// contains its validators and the IDs of its items. If the items have not changed in the database, a response with
/// status 304 means that the stored page is current.
extension ListDatabase {
    private struct PageRecord: Codable {
        struct Item: Codable {
            let id: String
            let digest: Data
        }

        let validators: Validators
        let next: String?
        let items: [Item]
        let unreadableCount: Int?
    }

    /// Returns the stored version of a page. Returns `nil` if the page has no validators, or if an item has since been
    /// changed or removed.
    func page(for request: String, of name: String) async throws -> SealedPage? {
        try await read { database in
            let (list, place) = (listKey(name), seal.keyedID(request.utf8, type: "page"))
            let sealed = try Data.fetchOne(
                database, sql: "SELECT sealed FROM page WHERE list = ? AND request = ?",
                arguments: [Data(list), Data(place)])
            guard let sealed else { return nil }
            guard let bytes = seal.open(sealed, type: "page", id: list + place) else { throw damaged }
            let record = try JSONDecoder().decode(PageRecord.self, from: Data(bytes))
            guard !record.validators.isEmpty else { return nil }
            let find = try database.cachedStatement(sql: "SELECT sealed FROM item WHERE key = ? AND digest = ?")
            var items: [SealedItem] = []
            for item in record.items {
                let key = Data(itemKey(item.id))
                guard let bytes = try Data.fetchOne(find, arguments: [key, item.digest]) else { return nil }
                items.append(SealedItem(id: item.id, key: key, digest: item.digest, bytes: bytes))
            }
            return SealedPage(
                items: items, next: record.next, validators: record.validators,
                unreadableCount: record.unreadableCount ?? 0)
        }
    }

    /// Records a received page, whether or not its items are stored yet.
    func note(_ page: SealedPage, of name: String, in sweep: Int64) async throws {
        let (list, place) = (listKey(name), seal.keyedID(page.validators.request.utf8, type: "page"))
        let record = try JSONEncoder().encode(
            PageRecord(
                validators: page.validators, next: page.next,
                items: page.items.map { PageRecord.Item(id: $0.id, digest: $0.digest) },
                unreadableCount: page.unreadableCount))
        let sealed = Data(seal.seal(record, type: "page", id: list + place))
        try await write { database in
            if page.isNotModified {
                try database.execute(
                    sql: "UPDATE page SET sweep = ? WHERE list = ? AND request = ?",
                    arguments: [sweep, Data(list), Data(place)])
            } else {
                try database.execute(
                    sql: "INSERT OR REPLACE INTO page(list, request, sweep, transfer, sealed) VALUES (?, ?, ?, ?, ?)",
                    arguments: [Data(list), Data(place), sweep, sweep, sealed])
            }
        }
    }

    /// Removes the pages that a pass through the whole list did not reach. Returns whether the service sent any page in
    /// this pass.
    func endSweep(_ sweep: Int64, of name: String) async throws -> Bool {
        try await write { database in
            let list = Data(listKey(name))
            try database.execute(
                sql: "DELETE FROM page WHERE list = ? AND sweep != ?", arguments: [list, sweep])
            return try Bool.fetchOne(
                database, sql: "SELECT EXISTS (SELECT 1 FROM page WHERE list = ? AND transfer = ?)",
                arguments: [list, sweep]) ?? false
        }
    }
}
#endif
