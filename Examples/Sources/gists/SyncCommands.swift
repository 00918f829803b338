import AccountCommands
import AccountKit
import AccountOffline
import ArgumentParser
import Foundation
import Terminal

extension Gists {
    struct Sync: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "sync", abstract: "Send the stored changes, and update the lists.")

        @Flag(help: "Print JSON.") var json = false

        private struct Document: Encodable {
            let sent: Int
            let pending: [PendingDocument]
            let problem: String?
        }

        func run() async throws {
            let progress = ProgressLine(isSilent: json)
            let interrupted: @Sendable () -> Void = {
                progress.end()
                Output.say("Cancelled. Unsent changes are kept: `gists status` shows them.")
            }
            try await Gists.run(whenInterrupted: interrupted) { gists in
                defer { progress.end() }
                progress.show(sent: 0, of: try await gists.pendingChanges().count)
                var report = try await gists.synchronize(ignoringBackOff: true) { sent, left in
                    progress.show(sent: sent, of: sent + left)
                }
                if report.problem == nil {
                    for list in try await gists.storedLists() where report.problem == nil {
                        progress.show("Checking for changes in \(list.name)")
                        report.problem = try await gists.refresh(list.name, limit: 1).problem
                    }
                }
                progress.end()
                try show(report)
            }
        }

        private func show(_ report: SynchronizationReport) throws {
            let problem = report.problem
            if json {
                try Output.print(
                    json: Document(
                        sent: report.sentCount, pending: report.pending.map(PendingDocument.init),
                        problem: problem?.message))
            } else {
                if report.sentCount > 0 { Output.say("Sent \(report.sentCount).") }
                for change in report.pending where change.state.needsDecision {
                    Output.say("\(change.line)\n\(change.advice)")
                }
                let waiting = report.pending.filter { !$0.state.needsDecision }
                if let first = waiting.first {
                    let (count, reason) = (waiting.count, problem == nil ? first.lastProblem : nil)
                    Output.say(
                        (count == 1 ? "1 change waits to be sent" : "\(count) changes wait to be sent")
                            + (reason.map { " (\($0.namingCommands(of: "gists")))" } ?? "") + ": see `gists status`.")
                }
                if let problem { Output.say(problem.line(of: "gists")) }
            }
            let states = Set(report.pending.map(\.state))
            if report.problem?.code == .notSignedIn || states.contains(.waitingForSignIn) { throw ExitCode(77) }
            if states.contains(where: \.needsDecision) { throw ExitCode(65) }
            if !states.isEmpty || report.problem != nil { throw ExitCode(69) }
        }
    }

    struct Status: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "status", abstract: "Show the stored lists and changes, and whether the service is reachable.")

        @Flag(help: "Do not connect to the service.") var offline = false
        @Flag(help: "Print JSON.") var json = false

        private struct Document: Encodable {
            struct List: Encodable {
                let list: String
                let count: Int
                let asOf: Date?
                let bytes: Int
            }

            let account: String
            let connectivity: String
            let lists: [List]
            let pending: [PendingDocument]
        }

        func run() async throws {
            try await Gists.run { gists in
                let name = try await Gists.store().load().account?.displayName ?? ""
                let lists = try await gists.storedLists()
                let pending = try await gists.pendingChanges()
                let connectivity = offline ? .uncertain(nil) : try await Gists.connectivity()
                if json {
                    return try Output.print(
                        json: Document(
                            account: name, connectivity: connectivity.name,
                            lists: lists.map {
                                .init(list: $0.name, count: $0.count, asOf: $0.asOf, bytes: $0.byteCount)
                            },
                            pending: pending.map(PendingDocument.init)))
                }
                try Output.print("account: \(name.shown)")
                if !offline { try Output.print("service: \(connectivity.line)") }
                for list in lists {
                    let age =
                        list.asOf.map { "as of \($0.shown)" }
                        ?? "of unknown age"
                    try Output.print("\(list.name): \(list.count) stored, \(age)")
                }
                try Output.print(pending.isEmpty ? "nothing waits to be sent" : "waiting to be sent:")
                for change in pending {
                    try Output.print("  " + change.line)
                    if change.state.needsDecision { try Output.print("    " + change.advice) }
                }
            }
        }
    }

    struct Resolve: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "resolve", abstract: "Decide what happens to a change that the service did not accept.",
            discussion: """
                --mine sends your version anyway. If the gist was deleted at the service, it is created again, with a \
                new ID. Until you decide, `gists show ID` shows your version, and `gists show ID >FILE` saves it. \
                With --discard, you can also drop a change that waits to be sent.
                """)

        enum Decision: String, EnumerableFlag { case mine, theirs, discard }

        @Argument(help: "The ID of the change, as `gists status` shows it.") var change: String
        @Flag(help: "Send your version anyway; keep the other version; or discard yours.") var decision: Decision

        func run() async throws {
            guard let id = UUID(uuidString: change) else {
                throw ValidationError("\(change.shown) is not a change ID")
            }
            try await Gists.run { gists in
                let pending = try await gists.pendingChanges().first { $0.id == id }
                if decision == .mine, let pending, pending.isItemGone {
                    guard pending.isAboutDeletedGist else {
                        throw AccountError(
                            .invalidArgument,
                            "the gist was deleted at the service, so this change cannot be sent: `gists resolve "
                                + "\(pending.id.uuidString.lowercased()) --discard` drops it")
                    }
                    return try await Gists.createAgain(pending, in: gists)
                }
                guard let pending, try await decision == .mine ? gists.keep(id) : gists.discard(id) else {
                    throw AccountError(.invalidArgument, "there is no such change: `gists status` shows all")
                }
                if decision == .mine { Output.say("It is sent with the next `gists sync`.") }
                guard decision == .theirs else { return }
                do {
                    try await gists.refreshItem(pending.change.object)
                } catch let error as AccountError where error.code == .serviceUnavailable {
                    Output.say(
                        "The version of the service is shown after the next `gists sync` (\(error.message.shown)).")
                } catch let error as AccountError where error.code == .requestRefused {
                    // The gist was deleted at the service, and is deleted here, too.
                }
            }
        }
    }
}

extension Gists {
    /// Creates a gist that was deleted at the service again, with all unsent edits and its unsent star.
    private static func createAgain(_ pending: PendingChange, in gists: OfflineCollection<GistsAPI>) async throws {
        let old = pending.change.object
        let later = try await gists.pendingChanges().filter { $0.change.object == old && $0.id != pending.id }
        guard let gist = try await gists.item(old) else {
            throw AccountError(
                .invalidArgument,
                "you have deleted this gist too, so there is nothing to create again: `gists resolve "
                    + "\(pending.id.uuidString.lowercased()) --discard` drops your edit")
        }
        let texts = gist.files.compactMapValues { file in file.isWhole ? file.content : nil }
        let edit = GistEdit(
            description: gist.description, isPublic: gist.isPublic,
            files: texts.mapValues { GistEdit.File(content: $0) })
        let change = Change(.create, body: try JSONEncoder().encode(edit))
        // Add the new changes first, so that the text is never lost. They contain the later changes.
        try await gists.add(change)
        for other in later where other.change.kind != .update {
            try await gists.add(Change(other.change.kind, of: change.object))
        }
        for other in later + [pending] { _ = try await gists.discard(other.id) }
        let missing = (gist.files.keys.filter { texts[$0] == nil } + gist.unreadableFiles).sorted().map(\.shown)
        if !missing.isEmpty {
            Output.say("Without these files, whose whole text is not stored here: \(missing.joined(separator: ", ")).")
        }
        if gist.truncated == true {
            Output.say("Without the files of this gist that the service did not send (GitHub sends at most 300).")
        }
        Output.say("It is created again with the next `gists sync`. Until then, its ID is \(change.object).")
    }
}

extension Connectivity {
    fileprivate var name: String {
        switch self {
        case .online: "online"
        case .uncertain: "uncertain"
        case .offline: "offline"
        }
    }

    fileprivate var line: String {
        switch self {
        case .online: "online"
        case .uncertain(let problem):
            problem.map { "uncertain: \($0.description.shown)" } ?? "uncertain: no response yet"
        case .offline(let problem): "offline: \(problem.description.shown)"
        }
    }
}

/// A pending change in JSON.
struct PendingDocument: Encodable {
    let change: String
    let kind: String
    let id: String
    let state: String
    let attempts: Int
    let lastProblem: String?

    init(_ pending: PendingChange) {
        change = pending.id.uuidString.lowercased()
        kind = pending.change.kind.rawValue
        id = pending.change.object
        state = pending.state.rawValue
        attempts = pending.attempts
        lastProblem = pending.lastProblem
    }
}

extension PendingChange {
    var line: String {
        let line = "\(id.uuidString.lowercased())  \(change.kind.rawValue) \(change.object)  \(state.rawValue)"
        let reason = lastProblem.map { $0.isEmpty ? "" : ": \($0)" } ?? ""
        let advice = state == .waitingForSignIn ? "; run `gists account login`" : ""
        return (line + reason + advice).namingCommands(of: "gists")
    }

    /// Whether the change is an edit of a gist that no longer exists at the service.
    var isAboutDeletedGist: Bool { isItemGone && change.kind == .update }

    /// What the user can do about a change that needs a decision.
    var advice: String {
        let (id, object) = (id.uuidString.lowercased(), change.object.shown)
        if isAboutDeletedGist {
            return "Your version: `gists show \(object)` shows it, `gists show \(object) >FILE` saves it, and "
                + "`gists resolve \(id) --mine` creates the gist again. `--discard` drops your change."
        }
        if state == .refused, change.kind == .create || change.kind == .update {
            return "Correct it with `gists edit \(object)`, or decide with `gists resolve \(id) --mine` (send it "
                + "again), `--theirs` or `--discard`."
        }
        return isItemGone
            ? "The gist was deleted at the service: drop your change with `gists resolve \(id) --discard`."
            : "Decide with `gists resolve \(id) --mine` (send it again), `--theirs` or `--discard`."
    }
}
