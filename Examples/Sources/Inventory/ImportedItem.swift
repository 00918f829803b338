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
        guard let name = try container.text(.name) else { throw container.missing(.name) }
        self.init(
            id: try container.text(.id), name: name, serial: try container.text(.serial),
            value: try container.wholeNumber(.value), createdAt: try container.date(.createdAt),
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

/// The members of an item. Other programs, and people with a text editor, may save a text of digits as a number, a number
/// as a text, and a date as a text.
extension KeyedDecodingContainer<Item.CodingKeys> {
    fileprivate func text(_ key: Key) throws -> String? {
        if let number = try? decodeIfPresent(Int.self, forKey: key) { return String(number) }
        return try decodeIfPresent(String.self, forKey: key)
    }

    fileprivate func wholeNumber(_ key: Key) throws -> Int? {
        let text = try? decodeIfPresent(String.self, forKey: key)
        if let text, text.isEmpty || Int(text) != nil { return Int(text) }
        return try decodeIfPresent(Int.self, forKey: key)
    }

    fileprivate func date(_ key: Key) throws -> Date? {
        if let text = try? decodeIfPresent(String.self, forKey: key), let date = try? Date(text, strategy: .iso8601) {
            return date
        }
        return try decodeIfPresent(Date.self, forKey: key)
    }

    func missing(_ key: Key) -> DecodingError {
        .keyNotFound(key, .init(codingPath: codingPath, debugDescription: "missing"))
    }
}
