import AccountCommands
import AccountKit
import AccountDocuments
import ArgumentParser
import Foundation
import Inventory
import Terminal

/// The items are either in plain text or encrypted for the signed-in user, never in both.
extension Homepwner {
    static func plainItems() throws -> DocumentArchive<Inventory<Item>> {
        try DocumentArchive("Items", in: try container(), format: .xml) { $0.items.compactMap(\.photo) }
    }

    static func sealedItems(of store: AccountStore) async throws -> DocumentArchive<Inventory<Item>> {
        let container = try container()
        do {
            return try await DocumentArchive("Items", of: store, in: container) { $0.items.compactMap(\.photo) }
        } catch {
            guard error.code == .notSignedIn else { throw error }
            throw AccountError(
                .notSignedIn,
                "the items are encrypted, and you are not signed in: run `homepwner account login`")
        }
    }

    /// Checks that an export does not replace the items or a photo of another item.
    static func checkDestination(_ file: String) throws {
        let items = try plainItems().path.resolved
        let photos = items.deletingPathExtension().path(percentEncoded: false) + "/"
        guard file.resolved != items, !file.resolved.path(percentEncoded: false).hasPrefix(photos) else {
            throw AccountError(
                .invalidArgument, "\(file.shown) belongs to the items themselves", hint: "choose another file")
        }
    }

    /// Whether encrypted items of any user exist.
    static func isSealed(for store: @autoclosure () throws -> AccountStore) async throws -> Bool {
        try await DocumentArchive<Inventory<Item>>.isSealed("Items", in: try container(), for: try store())
    }

    /// The items, and the photos that belong to them.
    ///
    /// - Parameter sealed: Whether to encrypt the items if there are none yet.
    static func items(sealed: Bool = false) async throws -> DocumentArchive<Inventory<Item>> {
        let plain = try plainItems()
        // Return early: most users have no account.
        if !sealed { guard try await isSealed(for: try store()) else { return plain } }
        let mine = try await sealedItems(of: try store())
        switch (try mine.exists(), try plain.exists()) {
        case (true, true):
            throw AccountError(
                .damaged,
                "there are sealed items, and others in plain text in \(plain.path): run `homepwner seal`, which seals those "
                    + "too")
        case (false, true) where sealed:
            throw AccountError(
                .invalidArgument,
                "there are items in plain text in \(plain.path), and nothing was added: seal them first, with `homepwner "
                    + "seal`")
        case (true, false): return mine
        case (false, true): return plain
        case (false, false): return sealed ? mine : plain
        }
    }
}

struct SealingOption: ParsableArguments {
    @Flag(help: "Seal the items for the current user; needed only once.") var sealed = false
}

struct Seal: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Seal all items and photos for the current user.",
        discussion: """
            Afterwards, no file contains readable parts of them, and you can use them only while you are signed in. If \
            the command is interrupted, nothing is lost: run it again.
            """)

    func run() async throws {
        let plain = try Homepwner.plainItems()
        let mine = try await Homepwner.sealedItems(of: try Homepwner.store())
        let count = try await mine.moveContents(of: plain, from: Inventory()) { inventory, others in
            inventory.merge(others)
            return others.items.count
        }
        guard let count else {
            return Output.say(
                try mine.exists()
                    ? "The items are sealed already."
                    : "No items yet. Add the first with `homepwner add NAME --sealed`.")
        }
        Output.say("Sealed \(count) item\(count == 1 ? "" : "s").")
    }
}

extension String {
    /// The file at the end of all symbolic links.
    fileprivate var resolved: URL { URL(filePath: self).resolvingSymlinksInPath() }
}
