import AccountKit
import ArgumentParser

struct UnlockCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "unlock", abstract: "Ask for the archive's passphrase once, and then not for a while.",
            discussion: """
                The key is kept in the kernel's keyring of this login session, never on disk; `lock` forgets it at once. While \
                the archive is unlocked, any program of this login session can open it.
                """)
    }

    @Option(name: .customLong("for"), help: "For how long: a number and one of s, m, h, d.")
    var duration = TimeSpan(argument: "8h")!

    @OptionGroup var options: CommonOptions

    func run(in context: CommandContext<App>) async throws {
        try await context.archive.unlock(for: duration.duration)
        if options.json {
            try JSONDocument.print(LockDocument(session: context.session.rawValue, isLocked: false))
        } else {
            Terminal.say("Unlocked for \(duration.text).")
        }
    }
}

struct LockCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: "lock", abstract: "Forget the archive's passphrase now.")
    }

    @OptionGroup var options: CommonOptions

    func run(in context: CommandContext<App>) async throws {
        try await context.archive.lock()
        if options.json {
            try JSONDocument.print(LockDocument(session: context.session.rawValue, isLocked: true))
        } else {
            Terminal.say("Locked.")
        }
    }
}

private struct LockDocument: Encodable {
    var session: String
    var isLocked: Bool
}

/// Such as `90s`, `30m`, `8h` or `2d`.
struct TimeSpan: ExpressibleByArgument {
    let text: String
    let duration: Duration

    var defaultValueDescription: String { text }

    init?(argument: String) {
        let seconds: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 24 * 3600]
        guard let unit = argument.last.flatMap({ seconds[$0] }), let count = Int64(argument.dropLast()), count > 0,
            count <= Int64(UInt32.max) / unit
        else { return nil }
        text = argument
        duration = .seconds(count * unit)
    }
}
