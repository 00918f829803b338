import AccountKit
import AccountDocuments
import ArgumentParser
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
            let item = try await archive.change(from: [], adding: [photo]) { items in
                let index = try items.index(of: id)
                items[index].photo = photo.id
                return items[index]
            }
            Output.say("Set the photo of \(item.name.shown).")
        }
    }

    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Copy an item's photo to a file.")

        @Argument(help: "The ID of the item.") var id: String
        @Argument(help: "The file. If it exists, it is replaced.") var file: String

        func run() async throws {
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
            Output.say("Copied the photo of \(item.name.shown) to \(file).")
        }

        private func photo(in archive: DocumentArchive<[Item]>) throws -> (Item, String) {
            let items = try archive.read() ?? []
            let item = items[try items.index(of: id)]
            guard let photo = item.photo else {
                throw AccountError(.invalidArgument, "\(item.name.shown) has no photo")
            }
            return (item, photo)
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Remove the photo of an item, but keep the item.")

        @Argument(help: "The ID of the item.") var id: String

        func run() async throws {
            let item = try await Homepwner.items().change(from: []) { items in
                let index = try items.index(of: id)
                guard items[index].photo != nil else {
                    throw AccountError(.invalidArgument, "\(items[index].name.shown) has no photo")
                }
                items[index].photo = nil
                return items[index]
            }
            Output.say("Removed the photo of \(item.name.shown).")
        }
    }
}
