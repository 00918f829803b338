import AccountKit
import ArgumentParser
import Logging

struct KeyCommand<App: AccountApplication>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "key", abstract: "Manage the encryption keys.",
            discussion: """
                Any single key opens the archive: a key file (the default), a passphrase, a program that prints the \
                key, or the environment. The archive is only as secure as its weakest key. To protect it with a \
                passphrase, add the passphrase and then remove the key file.
                """,
            subcommands: [
                KeyStatusCommand<App>.self, KeyAddCommand<App>.self, KeyRemoveCommand<App>.self,
                KeyRotateCommand<App>.self, UnlockCommand<App>.self, LockCommand<App>.self,
            ],
            defaultSubcommand: KeyStatusCommand<App>.self)
    }
}

struct KeyStatusCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "status", abstract: "Show the keys of the archive.",
            discussion: "  \(CommandLine.toolName) key status")
    }

    @Argument(help: .hidden)
    var others: [String] = []

    @OptionGroup(title: "Common options") var options: CommonOptions

    func validate() throws {
        guard let word = others.first else { return }
        throw Suggestion.unknownSubcommand(word, among: KeyCommand<App>.configuration.subcommands)
    }

    func run(in context: CommandContext<App>) async throws {
        try await KeyDocument(context).print(asJSON: options.json)
    }
}

struct KeyAddCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "add", abstract: "Add a key that opens the archive.",
            discussion: """
                Each key opens the archive. To require a new key, remove the others with `key remove`.

                  \(CommandLine.toolName) key add passphrase

                A program is run without a shell, and must print 32 random bytes in Base64 or hexadecimal:

                  openssl rand -base64 32 | pass insert --echo \(App.identifier)-key
                  \(CommandLine.toolName) key add command -- pass show \(App.identifier)-key
                """)
    }

    @Argument(help: "Kind of key: file, passphrase, command or environment.")
    var kind: KeyKind

    @Argument(parsing: .postTerminator, help: "Program that prints the key, and its arguments.")
    var command: [String] = []

    @OptionGroup(title: "Common options") var options: CommonOptions

    func validate() throws {
        if kind == .command, command.isEmpty {
            throw ValidationError(
                "the program that prints the key is missing",
                hint:
                    "for example, `\(CommandLine.toolName) key add command -- secret-tool lookup service \(App.identifier)`"
            )
        }
        if kind != .command, !command.isEmpty {
            throw ValidationError(
                "a key of kind \(kind.rawValue) accepts no program",
                hint: "omit the program, or use `\(CommandLine.toolName) key add command -- PROGRAM`")
        }
    }

    func run(in context: CommandContext<App>) async throws {
        let before = try context.preferences.keySettings(of: context.session)
        let source = KeySettings.Source(kind: kind, command: kind == .command ? command : nil)
        let key = source.keySource(of: context.session, App.self)
            .provider(in: context.container, session: context.session)
        let slots = try await context.archive.keySlots()
        let isSignedIn = !slots.isEmpty
        if !isSignedIn, kind != .passphrase, try await key.key() == nil { _ = try await key.makeKey() }
        // Save the settings first: an unused key source does no harm, but an archive needs its key source.
        var settings = before
        if !settings.sources.contains(source) { settings.sources.append(source) }
        try await context.preferences.setKeySettings(settings, of: context.session)
        guard isSignedIn else {
            Terminal.say("The archive of the next sign-in will also open with this key.")
            return try await KeyDocument(context).print(asJSON: options.json)
        }
        let store = try context.archive(with: settings.sources(of: context.session, App.self))
        let slot: ArchiveKeySlot
        do {
            slot = try await store.addKey(from: key)
        } catch {
            // The next sign-in must not ask for an unused key. `key status` shows a setting that could not be restored.
            try? await context.preferences.setKeySettings(before, of: context.session)
            throw error
        }
        Terminal.say(.success, "The archive now also opens with this key (\(slot.id.prefix(8))).")
        if kind != .keyFile, slots.contains(where: { $0.kind == .keyFile }) {
            let remove = context.hint.command("key remove file")
            Terminal.say(
                .warning, "The key file still opens the archive. To require the other key, run `\(remove)`.")
        }
        try await KeyDocument(context).print(asJSON: options.json)
    }
}

struct KeyRemoveCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "remove", abstract: "Remove a key.",
            discussion: """
                The removed key cannot open future versions of the archive. It can still open existing copies. The \
                remaining keys must be available.

                  \(CommandLine.toolName) key remove file
                """)
    }

    @Argument(help: "First digits of the key's ID, or its kind if the archive has only one key of that kind.")
    var key: String

    @OptionGroup(title: "Common options") var options: CommonOptions

    func run(in context: CommandContext<App>) async throws {
        let slots = try await context.archive.keySlots()
        var settings = try context.preferences.keySettings(of: context.session)
        let advice = "add another key first, for example with `\(context.hint.command("key add passphrase"))`"
        guard !slots.isEmpty else {
            let kept = settings.sources.filter { $0.kind.rawValue != key }
            guard kept.count < settings.sources.count, !kept.isEmpty else {
                throw AccountError(
                    .invalidArgument,
                    kept.isEmpty
                        ? "the next archive needs a key"
                        : "there is no archive yet, and no key of kind \(key) is configured for the next archive",
                    hint: kept.isEmpty ? advice : nil)
            }
            settings.sources = kept
            try await context.preferences.setKeySettings(settings, of: context.session)
            return try await KeyDocument(context).print(asJSON: options.json)
        }
        let slot = try slot(among: slots, context)
        do {
            try await context.archive.removeKey(slot.id)
        } catch {
            var error = error
            if slots.count == 1, error.code == .invalidArgument { error.hint = "\(advice), or sign out" }
            throw error
        }
        settings.sources = try await used(settings.sources, context)
        try await context.preferences.setKeySettings(settings, of: context.session)
        Terminal.say(.success, "The key \(slot.id.prefix(8)) no longer opens the archive.")
        try await KeyDocument(context).print(asJSON: options.json)
    }

    private func slot(
        among slots: [ArchiveKeySlot], _ context: CommandContext<App>
    ) throws(AccountError) -> ArchiveKeySlot {
        let named =
            if let kind = KeyKind(rawValue: key) {
                slots.filter { $0.kind == kind }
            } else {
                slots.filter { $0.id.hasPrefix(key.lowercased()) }
            }
        guard let slot = named.first, named.count == 1 else {
            throw AccountError(
                .invalidArgument,
                (named.isEmpty
                    ? "no key of the archive matches \(key)" : "several keys of the archive match \(key)"),
                hint: "run `\(context.hint.command("key status"))` to list the keys with their IDs")
        }
        return slot
    }

    private func used(
        _ sources: [KeySettings.Source], _ context: CommandContext<App>
    ) async throws -> [KeySettings.Source] {
        var used: [KeySettings.Source] = []
        for source in sources {
            let keySource = source.keySource(of: context.session, App.self)
            let slots = try await context.archive(with: [keySource]).keySlots().filter { $0.kind == source.kind }
            if !slots.isEmpty, await !hasKey(keySource, context) || slots.contains(where: \.isAvailable) {
                used.append(source)
            }
        }
        return used.isEmpty ? sources : used
    }

    /// Returns whether the key of a source is available. A source without its key is kept: the key may open a remaining slot.
    private func hasKey(_ source: KeySource, _ context: CommandContext<App>) async -> Bool {
        do {
            return try await source.provider(in: context.container, session: context.session).key() != nil
        } catch {
            context.logger?.warning("a key cannot be read", metadata: ["error": "\(error)"])
            return false
        }
    }
}

struct KeyRotateCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "rotate", abstract: "Replace a key, and the key that encrypts the data.",
            discussion: """
                For a key file, the command creates a new key. For a passphrase, the command asks for a new \
                passphrase. Existing copies of the archive still open with the old key.

                  \(CommandLine.toolName) key rotate file
                """)
    }

    @Argument(help: "Key to replace: file or passphrase; required only if the archive has both.")
    var kind: KeyKind?

    @OptionGroup(title: "Common options") var options: CommonOptions

    func run(in context: CommandContext<App>) async throws {
        let settings = try context.preferences.keySettings(of: context.session)
        let kinds = Set(settings.sources.map(\.kind)).intersection([.keyFile, .passphrase])
        guard let kind = kind ?? (kinds.count == 1 ? kinds.first : nil) else {
            throw AccountError(
                .invalidArgument,
                kinds.isEmpty
                    ? "the key comes from a program or the environment, so `rotate` cannot replace it"
                    : "the archive has a key file and a passphrase",
                hint: kinds.isEmpty
                    ? "add a key of another kind with `\(context.hint.command("key add"))`, remove this key with "
                        + "`\(context.hint.command("key remove"))`, change this key at its source, and add it again"
                    : "name the key to replace: \(kinds.map(\.rawValue).sorted().joined(separator: " or "))")
        }
        try await context.archive.rotateKey(of: kind)
        let name = kind == .keyFile ? "key file" : "passphrase"
        Terminal.say(.success, "Replaced the \(name) and the key that encrypts the data.")
        try await KeyDocument(context).print(asJSON: options.json)
    }
}
