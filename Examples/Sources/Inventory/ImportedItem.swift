import AccountDocuments
import Foundation

/// An item in a file that another program may have written. The names of photos are ignored, because the photos are
/// not in the file.
package struct ImportedItem: Codable, Sendable {
    let id: String?
    let name: String
    let serial: String?
    let value: Int?
    let createdAt: Date?
    let others: OtherKeys

    init(
        id: String? = nil, name: String, serial: String? = nil, value: Int? = nil, createdAt: Date? = nil,
        others: OtherKeys = OtherKeys()
    ) {
        (self.id, self.name, self.serial, self.value) = (id, name, serial, value)
        (self.createdAt, self.others) = (createdAt, others)
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Item.CodingKeys.self)
        self.init(
            id: try container.decodeIfPresent(String.self, forKey: .id),
            name: try container.decode(String.self, forKey: .name),
            serial: try container.decodeIfPresent(String.self, forKey: .serial),
            value: try container.decodeIfPresent(Int.self, forKey: .value),
            createdAt: try container.decodeIfPresent(Date.self, forKey: .createdAt),
            others: try OtherKeys(in: decoder, besides: Item.CodingKeys.self))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Item.CodingKeys.self)
        try container.encodeIfPresent(id, forKey: .id)
        try container.encode(name, forKey: .name)
        try container.encodeIfPresent(serial, forKey: .serial)
        try container.encodeIfPresent(value, forKey: .value)
        try container.encodeIfPresent(createdAt, forKey: .createdAt)
        try others.encode(to: encoder)
    }

    /// The id, if the user can type it.
    var usableID: String? {
        guard let id, (1...64).contains(id.count),
            id.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) })
        else { return nil }
        return id
    }
}
