import AccountDocuments
package import AccountKit
package import Foundation
import Terminal

/// An item in `Items.plist`.
package struct Item: Codable, Sendable, Hashable {
    package var id: String
    package var name: String
    package var serial: String?
    package var value: Int?
    package var createdAt: Date
    /// The id of the photo's file.
    package var photo: String?
    /// The members that another program has added.
    let others: OtherKeys

    enum CodingKeys: CodingKey, CaseIterable { case id, name, serial, value, createdAt, photo }

    /// - Throws: `invalidArgument` if a value cannot be stored.
    package init(
        id: String, name: String, serial: String?, value: Int?, createdAt: Date = .now
    ) throws(AccountError) {
        (self.id, self.name, self.serial, self.value) = (id, name, serial, value)
        (self.createdAt, others) = (createdAt, OtherKeys())
        try Self.check(name: name, serial: serial, value: value)
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let item = try ImportedItem(from: decoder)
        guard let id = item.id else { throw container.missing(.id) }
        guard let createdAt = item.createdAt else { throw container.missing(.createdAt) }
        (self.id, self.createdAt) = (id, createdAt)
        (name, serial, value, others) = (item.name, item.serial, item.value, item.others)
        photo = try container.decodeIfPresent(String.self, forKey: .photo)
    }

    /// Creates an item of a file that another program may have written.
    ///
    /// - Throws: `invalidArgument` if a value cannot be stored.
    init(_ item: ImportedItem, id: String = "") throws(AccountError) {
        (self.id, createdAt) = (id, item.createdAt ?? .now)
        (name, serial, value, others) = (item.name, item.serial, item.value, item.others)
        try Self.check(name: name, serial: serial, value: value, mayHaveLines: true)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(name, forKey: .name)
        try container.encodeIfPresent(serial, forKey: .serial)
        try container.encodeIfPresent(value, forKey: .value)
        try container.encode(createdAt, forKey: .createdAt)
        try container.encodeIfPresent(photo, forKey: .photo)
        try others.encode(to: encoder)
    }

    /// Changes the item. Values that are not changed stay, even if another program wrote values that ``init`` refuses.
    ///
    /// - Throws: `invalidArgument` if a new value cannot be stored.
    package mutating func change(
        name: String? = nil, serial: String?? = .none, value: Int?? = .none
    ) throws(AccountError) {
        try Self.check(name: name, serial: serial ?? nil, value: value ?? nil)
        self.name = name ?? self.name
        self.serial = serial ?? self.serial
        self.value = value ?? self.value
    }

    /// Checks new values. Any text can be stored that an XML property list keeps unchanged (XML 1.0, section 2.2). A text
    /// that the user types has one line.
    private static func check(
        name: String?, serial: String?, value: Int?, mayHaveLines: Bool = false
    ) throws(AccountError) {
        guard name != "" else { throw AccountError(.invalidArgument, "an item needs a name") }
        for text in [name, serial].compactMap(\.self) {
            let isKept = text.unicodeScalars.allSatisfy { scalar in
                switch scalar.properties.generalCategory {
                case .control, .lineSeparator, .paragraphSeparator:
                    mayHaveLines && (scalar.value >= 0x20 || scalar == "\n" || scalar == "\t")
                default: !scalar.properties.isNoncharacterCodePoint
                }
            }
            // A property list cannot contain the text "$null".
            guard isKept, text != "$null" else {
                throw AccountError(.invalidArgument, "\"\(text.shown)\" cannot be kept: use plain text, in one line")
            }
        }
        guard value ?? 0 >= 0 else { throw AccountError(.invalidArgument, "a value cannot be negative") }
    }
}
