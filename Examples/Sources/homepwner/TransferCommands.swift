import AccountKit
import AccountDocuments
import ArgumentParser
import Terminal

struct Export: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Write all items to a file for other programs.",
        discussion: "The file does not contain photos: copy each with `homepwner photo export`.")

    @Option(help: "The file, an XML property list. If it exists, it is replaced.") var xml: String

    func run() async throws {
        var items = try await Homepwner.items().read() ?? []
        for index in items.indices { items[index].photo = nil }
        try await DocumentArchive<[Item]>.write(items, to: xml)
        Output.say("Exported \(items.count) item\(items.count == 1 ? "" : "s") to \(xml).")
    }
}

struct Import: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Add the items from a file.",
        discussion: """
            The file is a property list, as `homepwner export` writes it: an array of dictionaries with "name" and, \
            optionally, "id", "serial", "value" and "createdAt". Items whose ID already exists are not changed.
            """)

    @Argument(help: "The file.") var file: String
    @OptionGroup var sealing: SealingOption

    func run() async throws {
        let imported = try DocumentArchive<[ImportedItem]>.read(from: file)
        let count = try await Homepwner.items(sealed: sealing.sealed).change(from: []) { items in
            let before = items.count
            for (index, one) in imported.enumerated() {
                do {
                    let item = try one.item(newID: items.newID())
                    if !items.contains(where: { $0.id == item.id }) { items.append(item) }
                } catch let error as AccountError {
                    throw AccountError(
                        .damaged, "item \(index + 1) of \(file): \(error.message). Nothing was imported")
                }
            }
            return items.count - before
        }
        let known = imported.count - count
        Output.say(
            "Imported \(count) item\(count == 1 ? "" : "s")." + (known > 0 ? " \(known) already existed." : ""))
    }
}
