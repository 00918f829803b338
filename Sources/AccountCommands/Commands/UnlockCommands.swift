import AccountKit
import ArgumentParser

struct UnlockCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "unlock", abstract: "Unlock the archive for a limited time.",
            discussion: """
                The command stores the key in the kernel's keyring of this login session, not on disk. `key lock` \
                removes the key immediately. While the archive is unlocked, any program in this login session can open it.

                  \(CommandLine.toolName) key unlock --for 30m
                """)
    }

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp(
            "How long to unlock: a number followed by s, m, h or d (default: 8h).", valueName: "duration"),
        transform: TimeSpan.init(option:))
    var duration: TimeSpan?

    @OptionGroup(title: "Common options") var options: CommonOptions

    func run(in context: CommandContext<App>) async throws {
        let duration = try duration ?? TimeSpan(option: "8h")
        try await context.archive.unlock(for: duration.duration)
        if options.json {
            try JSONDocument.print(LockDocument(session: context.session.rawValue, isLocked: false))
        } else {
            Terminal.say(.success, "Unlocked for \(duration.text).")
        }
    }
}

struct LockCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "lock", abstract: "Lock the archive now.",
            discussion: """
                After that, opening the archive requires the passphrase.

                  \(CommandLine.toolName) key lock
                """)
    }

    @OptionGroup(title: "Common options") var options: CommonOptions

    func run(in context: CommandContext<App>) async throws {
        try await context.archive.lock()
        if options.json {
            try JSONDocument.print(LockDocument(session: context.session.rawValue, isLocked: true))
        } else {
            Terminal.say(.success, "Locked.")
        }
    }
}

private struct LockDocument: Encodable {
    var session: String
    var isLocked: Bool
}

/// A time span, such as `90s`, `30m`, `8h` or `2d`.
struct TimeSpan {
    let text: String
    let duration: Duration

    init(option text: String) throws {
        let seconds: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 24 * 3600]
        guard let unit = text.last.flatMap({ seconds[$0] }), let count = Int64(text.dropLast()), count > 0,
            count <= Int64(UInt32.max) / unit
        else { throw ValidationError("use a number with a unit, such as 8h or 30m") }
        self.text = text
        duration = .seconds(count * unit)
    }
}
