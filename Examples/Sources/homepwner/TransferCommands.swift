import AccountKit
import AccountDocuments
import ArgumentParser
import Inventory
import Terminal

struct Export: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Write all items to a file for other programs.",
        discussion: "The file does not contain photos: copy each with `homepwner photo export`.")

    @Option(help: "The file, an XML property list. If it exists, it is replaced.") var xml: String

    func run() async throws {
        try Homepwner.checkDestination(xml)
        var inventory = try await Homepwner.items().read() ?? Inventory()
        for index in inventory.items.indices { inventory.items[index].photo = nil }
        try await DocumentArchive<Inventory<Item>>.write(inventory, to: xml)
        let count = inventory.items.count
        Output.say("Exported \(count) item\(count == 1 ? "" : "s") to \(xml.shown).")
    }
}

struct Import: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Add the items from a file.",
        discussion: """
            The file is a property list, as `homepwner export` writes it: an array of dictionaries with "name" and, \
            optionally, "id", "serial", "value" and "createdAt", or a dictionary with this array in "items". Other programs \
            may save texts of digits as numbers, and numbers and ISO 8601 dates as texts. Items whose \
            ID already exists are not changed. If two different items of the file have the same ID, the second gets \
            a new one. Other members of an item are kept.
            """)

    @Argument(help: "The file.") var file: String
    @OptionGroup var sealing: SealingOption

    func run() async throws {
        let imported = try DocumentArchive<Inventory<ImportedItem>>.read(from: file).items
        let report = try await Homepwner.items(sealed: sealing.sealed).change(from: Inventory()) { inventory in
            try inventory.items.add(imported, from: file.shown)
        }
        var parts = ["Imported \(report.added) item\(report.added == 1 ? "" : "s")."]
        if report.known > 0 { parts.append("\(report.known) already existed.") }
        if report.renamed > 0 {
            parts.append("\(report.renamed) got a new ID, because the file has another item with the same ID.")
        }
        Output.say(parts.joined(separator: " "))
    }
}
