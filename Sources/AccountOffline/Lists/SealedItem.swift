#if Offline
import AccountCrypto
import AccountSupport

/// An encrypted item. AccountKit encrypts items before it locks the database, so that other processes wait only for the
/// disk.
struct SealedItem: Sendable {
    let id: String
    let key: Data
    let digest: Data
    let bytes: Data
}

extension SealedItem {
    init(_ item: RemoteItem, _ seal: RowSeal) {
        id = item.id
        let key = seal.keyedID(item.id.utf8, type: "item")
        self.key = Data(key)
        digest = Data(seal.keyedID(item.json, type: "digest"))
        bytes = Self.seal(item, type: "item", key: key, seal)
    }

    /// Encrypts the length of an item's ID (four bytes), the ID (which may contain any byte), and the JSON of the
    /// service.
    static func seal(_ item: RemoteItem, type: String, key: [UInt8], _ seal: RowSeal) -> Data {
        let id = item.id.utf8
        var bytes: [UInt8] = []
        bytes.reserveCapacity(4 + id.count + item.json.count)
        bytes.append(lengthPrefixed: id)
        bytes.append(contentsOf: item.json)
        return Data(seal.seal(bytes, type: type, id: key))
    }

    static func open(_ sealed: Data, type: String, key: Data, _ seal: RowSeal) -> RemoteItem? {
        guard let bytes = seal.open(sealed, type: type, id: key), bytes.count >= 4 else { return nil }
        let length = (0..<4).reduce(0) { $0 | Int(bytes[$1]) << (8 * $1) }
        guard length <= bytes.count - 4 else { return nil }
        return RemoteItem(
            id: String(decoding: bytes[4..<(4 + length)], as: UTF8.self), valid: Data(bytes[(4 + length)...]))
    }
}

struct SealedPage: Sendable {
    let items: [SealedItem]
    var next: String?

    let validators: Validators

    /// The number of items without a readable ID.
    var unreadableCount = 0

    /// Whether the service has confirmed the stored page.
    var isNotModified = false
}

extension SealedPage {
    init(_ page: RemotePage, _ validators: Validators, _ seal: RowSeal) {
        var seen: Set<String> = []
        let items = page.items.filter { seen.insert($0.id).inserted }.map { SealedItem($0, seal) }
        self.init(
            items: items, next: page.next, validators: validators, unreadableCount: page.unreadableCount)
    }
}
#endif
