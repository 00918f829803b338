import AccountKit
import AccountDocuments
import ArgumentParser
import Inventory
import Terminal

struct Photo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Set, export or remove the photo of an item.", subcommands: [Set.self, Export.self, Remove.self])

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Set or replace the photo of an item.")

        @Argument(help: "The ID of the item.") var id: String
        @Argument(help: "The photo file. It is copied.") var file: String

        func run() async throws {
            let archive = try await Homepwner.items()
            let photo = try await archive.stage(contentsOf: file)
            let item = try await archive.change(from: Inventory(), adding: [photo]) { inventory in
                let index = try inventory.index(of: id)
                inventory.items[index].photo = photo.id
                return inventory.items[index]
            }
            Output.say("Set the photo of \(item.name.shown).")
        }
    }

    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Copy an item's photo to a file.")

        @Argument(help: "The ID of the item.") var id: String
        @Argument(help: "The file. If it exists, it is replaced.") var file: String

        func run() async throws {
            try Homepwner.checkDestination(file)
            let archive = try await Homepwner.items()
            var (item, photo) = try photo(in: archive)
            while true {
                do {
                    try await archive.exportFile(photo, to: file)
                    break
                } catch {
                    // Another process may have replaced the photo in the meantime.
                    let missing = photo
                    (item, photo) = try self.photo(in: archive)
                    if error.code != .damaged || photo == missing { throw error }
                }
            }
            Output.say("Copied the photo of \(item.name.shown) to \(file.shown).")
        }

        private func photo(in archive: DocumentArchive<Inventory<Item>>) throws -> (Item, String) {
            let inventory = try archive.read() ?? Inventory()
            let item = inventory.items[try inventory.index(of: id)]
            guard let photo = item.photo else {
                throw AccountError(
                    .invalidArgument,
                    "\(item.name.shown) has no photo: `homepwner photo set \(item.id.shown) FILE` sets one")
            }
            return (item, photo)
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Remove the photo of an item, but keep the item.")

        @Argument(help: "The ID of the item.") var id: String

        func run() async throws {
            let item = try await Homepwner.items().change(from: Inventory()) { inventory in
                let index = try inventory.index(of: id)
                guard inventory.items[index].photo != nil else {
                    throw AccountError(.invalidArgument, "\(inventory.items[index].name.shown) has no photo")
                }
                inventory.items[index].photo = nil
                return inventory.items[index]
            }
            Output.say("Removed the photo of \(item.name.shown).")
        }
    }
}
