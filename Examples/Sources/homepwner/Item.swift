import AccountKit
import Foundation
import Terminal

/// An item in `Items.plist`.
struct Item: Codable, Sendable, Equatable {
    var id: String
    var name: String
    var serial: String?
    var value: Int?
    var createdAt: Date
    /// The id of the photo's file.
    var photo: String?

    /// - Throws: `invalidArgument` if a string cannot be stored or shown.
    init(id: String, name: String, serial: String?, value: Int?, createdAt: Date = .now) throws(AccountError) {
        self.id = id
        self.name = name
        self.serial = serial
        self.value = value
        self.createdAt = createdAt
        try check()
    }

    func check() throws(AccountError) {
        guard !name.isEmpty else { throw AccountError(.invalidArgument, "an item needs a name") }
        for text in [name, serial ?? ""] where text != text.shown || text == "$null" {
            throw AccountError(.invalidArgument, "\"\(text.shown)\" cannot be kept: use plain text, in one line")
        }
        guard value ?? 0 >= 0 else { throw AccountError(.invalidArgument, "a value cannot be negative") }
    }
}

extension [Item] {
    /// The index of an item.
    ///
    /// - Throws: `invalidArgument` if no item has this id.
    func index(of id: String) throws(AccountError) -> Int {
        guard let index = firstIndex(where: { $0.id == id }) else {
            throw AccountError(.invalidArgument, "there is no item \"\(id.shown)\": `homepwner list` shows all")
        }
        return index
    }

    /// An unused id of 8 hexadecimal digits.
    func newID() -> String {
        while true {
            let digits = String(UInt32.random(in: .min ... .max), radix: 16)
            let id = String(repeating: "0", count: 8 - digits.count) + digits
            if !contains(where: { $0.id == id }) { return id }
        }
    }
}

/// An item in a file that another program may have written.
struct ImportedItem: Codable, Sendable {
    var id: String?
    var name: String
    var serial: String?
    var value: Int?
    var createdAt: Date?

    /// The item, with its own id if the user can type that id.
    func item(newID: String) throws(AccountError) -> Item {
        let isID = id.map {
            (1...64).contains($0.count) && $0.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
        }
        return try Item(
            id: isID == true ? id ?? newID : newID, name: name, serial: serial, value: value,
            createdAt: createdAt ?? .now)
    }
}
