import AccountKit
import AccountSupport
import ArgumentParser

extension AccountCommandGroup {
    /// Commands for changes that were made offline: `sync` sends them, `pending` lists them, and `resolve` decides what
    /// happens to a change that conflicts with another one.
    ///
    /// The app returns an `OfflineCollection` of AccountOffline from ``AccountApplication/linkedStorage(of:)``.
    ///
    /// ```swift
    /// static var commandGroups: [AccountCommandGroup<Self>] { [.changes] }
    /// ```
    public static var changes: AccountCommandGroup {
        AccountCommandGroup(
            name: "Offline changes",
            subcommands: [SyncCommand<App>.self, PendingCommand<App>.self, ResolveCommand<App>.self],
            mainNames: ["sync", "pending", "resolve"],
            parsedAlone: { _ in nil }, findings: { _ in [] })
    }
}

struct SyncCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "sync", abstract: "Send offline changes, and update stored lists.",
            discussion: """
                Exits with 69 if changes remain because the service is unreachable, with 65 if you must resolve \
                a change, and with 77 if you must sign in first.

                  \(CommandLine.toolName) sync
                """)
    }

    @OptionGroup(title: "Common options") var options: CommonOptions

    func run(in context: CommandContext<App>) async throws {
        let storage = try await App.synchronizableStorage(of: context)
        let progress = !options.json && Terminal.isTerminal(.error)
        var (sentCount, problem) = try await storage.sendChanges { sent, left in
            if progress { Terminal.say("Sent \(sent) of \(sent + left).") }
        }
        problem?.nameSignIn(command: context.hint.command("login"), orReplaceTokenIn: App.replacingTokenVariable)
        let unsent = try await storage.unsentChanges()
        if options.json {
            try JSONDocument.print(
                ChangesDocument(
                    sent: sentCount, pending: unsent.map(UnsentDocument.init), problem: problem.map { "\($0)" }))
        } else {
            show(unsent, sentCount: sentCount, problem, context.hint)
        }
        if problem?.code == .notSignedIn || unsent.contains(where: \.waitsForSignIn) { throw ExitCode(77) }
        if unsent.contains(where: \.needsDecision) { throw ExitCode(65) }
        if !unsent.isEmpty || problem != nil { throw ExitCode(69) }
    }

    private func show(_ unsent: [UnsentChange], sentCount: Int, _ problem: AccountError?, _ hint: CommandHint) {
        if sentCount > 0 {
            Terminal.say(.success, StyledText(sentCount == 1 ? "Sent 1 change." : "Sent \(sentCount) changes."))
        } else if unsent.isEmpty, problem == nil {
            Terminal.say("There are no unsent changes.")
        }
        if let problem { Terminal.say(problem) }
        let decisions = unsent.filter(\.needsDecision)
        for change in decisions { Terminal.say(.warning, StyledText(hint.naming(change.line))) }
        if !decisions.isEmpty {
            Terminal.say("  Decide with `\(hint.command("resolve")) CHANGE --mine` or `--theirs`.")
        }
        let waiting = unsent.filter { !$0.needsDecision }
        guard let first = waiting.first else { return }
        let reason = problem == nil ? first.lastProblem.map { " (\(hint.naming($0)))" } ?? "" : ""
        Terminal.say(
            (waiting.count == 1 ? "1 change is not sent yet" : "\(waiting.count) changes are not sent yet")
                + "\(reason): see `\(hint.command("pending"))`.")
    }
}

struct PendingCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "pending", abstract: "List the changes that are not sent yet.",
            discussion: """
                Does not use the network.

                  \(CommandLine.toolName) pending
                  \(CommandLine.toolName) pending --json
                """)
    }

    @OptionGroup(title: "Common options") var options: CommonOptions

    func run(in context: CommandContext<App>) async throws {
        let unsent = try await App.synchronizableStorage(of: context).unsentChanges()
        if options.json { return try JSONDocument.print(["pending": unsent.map(UnsentDocument.init)]) }
        guard !unsent.isEmpty else { return Terminal.say("There are no unsent changes.") }
        try Terminal.printTable(
            ["CHANGE", "KIND", "ITEM", "STATE", "REASON"],
            unsent.map {
                [$0.shownID, $0.kind, $0.item, $0.state, $0.lastProblem.map { context.hint.naming($0) } ?? "-"]
            })
    }
}

struct ResolveCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "resolve", abstract: "Decide what happens to a change that the service did not accept.",
            discussion: """
                `\(CommandLine.toolName) pending` lists the changes. With --theirs, you can also drop a change that has \
                not been sent yet.

                  \(CommandLine.toolName) resolve 0bd5c5c8-8f5e-4f41-9d86-0b1a4c6f8a11 --mine
                """)
    }

    enum Decision: String, EnumerableFlag {
        case mine, theirs

        static func help(for value: Decision) -> ArgumentHelp? {
            switch value {
            case .mine: "Send your change with the next `sync`, and replace the version at the service."
            case .theirs:
                """
                Drop your change, and keep the version at the service. If the change creates an item, later changes of \
                the item are dropped too.
                """
            }
        }
    }

    @Argument(help: "ID of the change.")
    var change: String

    @Flag var decision: Decision

    @OptionGroup(title: "Common options") var options: CommonOptions

    func validate() throws {
        guard UUID(uuidString: change) != nil else {
            throw ValidationError(
                "\(change.shown) is not a change ID", hint: "run `\(CommandLine.toolName) pending` to list the changes")
        }
    }

    func run(in context: CommandContext<App>) async throws {
        guard let id = UUID(uuidString: change) else { return }
        let storage = try await App.synchronizableStorage(of: context)
        let (isFound, problem) = try await storage.resolve(id, keepingMine: decision == .mine)
        guard isFound else {
            throw AccountError(
                .invalidArgument, "there is no unsent change \(change)",
                hint: "run `\(context.hint.command("pending"))` to list the changes")
        }
        if options.json { return try JSONDocument.print(["change": change, "decision": decision.rawValue]) }
        switch decision {
        case .mine: Terminal.say(.success, "`\(bold: context.hint.command("sync"))` sends your change.")
        case .theirs: Terminal.say(.success, "Your change was dropped.")
        }
        if let problem {
            Terminal.say("The service's version is stored with the next `\(context.hint.command("sync"))`: \(problem)")
        }
    }
}

extension AccountApplication {
    fileprivate static func synchronizableStorage(
        of context: CommandContext<Self>
    ) async throws -> any SynchronizableStorage {
        guard let storage = try await linkedStorage(of: context.archive) as? any SynchronizableStorage else {
            throw AccountError(.invalidArgument, "this tool stores no changes to send")
        }
        return storage
    }
}

private struct ChangesDocument: Encodable {
    let sent: Int
    let pending: [UnsentDocument]
    let problem: String?
}

private struct UnsentDocument: Encodable {
    let change: String
    let kind: String
    let id: String
    let state: String
    let attempts: Int
    let lastProblem: String?

    init(_ unsent: UnsentChange) {
        change = unsent.shownID
        kind = unsent.kind
        id = unsent.item
        state = unsent.state
        attempts = unsent.attempts
        lastProblem = unsent.lastProblem
    }
}

extension UnsentChange {
    fileprivate var shownID: String { id.uuidString.lowercased() }

    fileprivate var line: String {
        "\(shownID)  \(kind) \(item)  \(state)" + (lastProblem.map { ": \($0)" } ?? "")
    }
}
