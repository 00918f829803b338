import AccountCommands
import AccountKit
import AccountOffline
import ArgumentParser
import Foundation

/// What is in the house, with photos: a document of the app's own, and files that belong to it. What a command has confirmed
/// survives its death and a power cut. No account is needed.
@main struct Homepwner: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "homepwner",
        abstract: "Keep a list of what you own, with photos.",
        discussion: """
            Everything is in the folder $HOMEPWNER_HOME, or in ~/.local/share/com.example.homepwner: the items in \
            Documents/Items.plist, a property list that any program can read, and their photos in Documents/Items.

            With --json, `list` prints {"items": [ITEM, ...]} and `show` prints one ITEM: {"id", "name", "serial", \
            "value", "createdAt", "photo"}. "value" is a whole number, "createdAt" a date as in ISO 8601, in UTC, "photo" \
            says whether there is one; "serial" and "value" are left out where there is none.

            Exit codes: 0 done, 64 usage, 65 the items are damaged, 74 input or output error, 75 another process \
            is busy with them.
            """,
        subcommands: [
            Add.self, List.self, Show.self, Edit.self, Remove.self, Photo.self, Export.self, Import.self,
        ])

    /// The items, and the photos that they name.
    static func items() throws -> DocumentArchive<[Item]> {
        let identifier = "com.example.homepwner"
        let home = ProcessInfo.processInfo.environment["HOMEPWNER_HOME"]
        let container =
            try home.map { try AppContainer(root: $0, identifier: identifier) }
            ?? AppContainer(identifier: identifier)
        return try DocumentArchive("Items", in: container, format: .xml) { $0.compactMap(\.photo) }
    }

    static func main() async {
        do {
            var command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let error as AccountError {
            Output.say("homepwner: \(error)")
            exit(withError: ExitCode(error.exitCode))
        } catch {
            exit(withError: error)
        }
    }
}
