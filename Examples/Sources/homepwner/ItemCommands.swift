import AccountKit
import AccountDocuments
import ArgumentParser
import Foundation
import Inventory
import Terminal

struct Add: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Add an item, and print its ID.")

    @Argument(help: "The name of the item.") var name: String
    @Option(help: "The serial number.") var serial: String?
    @Option(help: "The value, a whole number.") var value: Int?
    @Option(help: "A photo file. It is copied.") var photo: String?
    @OptionGroup var sealing: SealingOption

    func run() async throws {
        let archive = try await Homepwner.items(sealed: sealing.sealed)
        let staged = try await stagedPhoto(in: archive)
        let item = try await archive.change(from: Inventory(), adding: staged.map { [$0] } ?? []) { inventory in
            var item = try Item(id: inventory.newID(), name: name, serial: serial, value: value)
            item.photo = staged?.id
            inventory.items.append(item)
            return item
        }
        Output.say("Added \(item.name.shown).")
        try Output.print(item.id)
    }

    private func stagedPhoto(in archive: DocumentArchive<Inventory<Item>>) async throws -> StagedFile? {
        guard let photo else { return nil }
        return try await archive.stage(contentsOf: photo)
    }
}

struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "List all items.")

    @Flag(help: "Print JSON.") var json = false

    private struct Document: Encodable {
        let items: [ItemDocument]
    }

    func run() async throws {
        let items = try await Homepwner.items().read()?.items ?? []
        if json { return try Output.print(json: Document(items: items.map { ItemDocument($0) })) }
        if items.isEmpty { return Output.say("No items yet. Add one with `homepwner add NAME`.") }
        let lines = items.map { item in
            let details = [
                item.serial.map { "serial \($0)" }, item.value.map { "worth \($0)" }, item.photo.map { _ in "photo" },
            ]
            let text = details.compactMap(\.self).joined(separator: ", ")
            return (item.id + "  " + item.name + (text.isEmpty ? "" : " (\(text))")).shown
        }
        try Output.print(lines.joined(separator: "\n"))
    }
}

struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Show one item.")

    @Argument(help: "The ID of the item.") var id: String
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let inventory = try await Homepwner.items().read() ?? Inventory()
        let item = inventory.items[try inventory.index(of: id)]
        if json { return try Output.print(json: ItemDocument(item)) }
        let lines = [
            "Name:    \(item.name)", item.serial.map { "Serial:  \($0)" }, item.value.map { "Value:   \($0)" },
            "Created: \(item.createdAt.formatted(.iso8601))", "Photo:   \(item.photo == nil ? "no" : "yes")",
        ]
        try Output.print(lines.compactMap { $0?.shown }.joined(separator: "\n"))
    }
}

struct Edit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Change an item.")

    @Argument(help: "The ID of the item.") var id: String
    @Option(help: "The name of the item.") var name: String?
    @Option(help: "The serial number; \"\" removes it.") var serial: String?
    @Option(help: "The value, a whole number.") var value: Int?
    @Flag(help: "Remove the value.") var noValue = false

    func validate() throws {
        guard name != nil || serial != nil || value != nil || noValue else {
            throw ValidationError("Specify what to change: --name, --serial, --value or --no-value.")
        }
        guard value == nil || !noValue else { throw ValidationError("Use --value or --no-value, not both.") }
    }

    func run() async throws {
        let item = try await Homepwner.items().change(from: Inventory()) { inventory in
            let index = try inventory.index(of: id)
            try inventory.items[index].change(
                name: name, serial: serial.map { $0.isEmpty ? nil : $0 },
                value: noValue ? .some(nil) : value.map { $0 })
            return inventory.items[index]
        }
        Output.say("Changed \(item.name.shown).")
    }
}

struct Remove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Remove an item and its photo.")

    @Argument(help: "The ID of the item.") var id: String

    func run() async throws {
        let item = try await Homepwner.items().change(from: Inventory()) { inventory in
            inventory.items.remove(at: try inventory.index(of: id))
        }
        Output.say("Removed \(item.name.shown).")
    }
}
