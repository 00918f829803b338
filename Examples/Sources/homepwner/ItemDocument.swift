import Foundation
import Inventory

/// An item in JSON; see the help.
struct ItemDocument: Encodable {
    let id: String
    let name: String
    let serial: String?
    let value: Int?
    let createdAt: Date
    let photo: Bool

    init(_ item: Item) {
        id = item.id
        name = item.name
        serial = item.serial
        value = item.value
        createdAt = item.createdAt
        photo = item.photo != nil
    }
}
