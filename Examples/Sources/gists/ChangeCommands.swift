import AccountKit
import AccountOffline
import ArgumentParser
import Foundation
import Terminal

extension Gists {
    /// Stores changes, and sends them if the service can be reached.
    static func make(_ changes: [Change], json: Bool, in gists: OfflineCollection<GistsAPI>) async throws {
        for change in changes {
            let isPrinted = change.kind == .create
            try await gists.add(change)
            if isPrinted, !json { Output.say("Stored as \(change.object).") }
        }
        var objects = Set(changes.map(\.object))
        let report: SynchronizationReport
        do {
            report = try await gists.synchronize()
        } catch {
            guard error.code == .busy else { throw error }
            Output.say("queued; another process is sending: `gists status` shows what is left")
            return
        }
        // After a create was sent, later changes of the item have the service's ID.
        for change in changes { objects.insert(try await gists.currentID(of: change.object)) }
        let left = report.pending.filter { objects.contains($0.change.object) }
        if json {
            try Output.print(json: ["pending": left.map(PendingDocument.init)])
        } else if let made = changes.first(where: { $0.kind == .create }) {
            try Output.print(try await gists.currentID(of: made.object).shown)
        }
        let decisions = left.filter(\.state.needsDecision)
        for change in decisions { Output.say("\(change.line)\n\(change.advice)") }
        if let first = left.first(where: { !$0.state.needsDecision }) {
            let reason = report.problem?.message ?? first.lastProblem
            let why = reason.map { " (\($0.shown))" } ?? ""
            Output.say(
                report.problem?.code == .notSignedIn || first.state == .waitingForSignIn
                    ? "queued; sent by `gists sync` after `gists account login`\(why)"
                    : decisions.contains { $0.change.object == first.change.object }
                        ? "queued; sent by `gists sync` after you have decided"
                        : report.problem == nil
                            ? "queued; sent by `gists sync`\(why)"
                            : "queued; sent when the network is back\(why), or by `gists sync`")
        }
        if !decisions.isEmpty { throw ExitCode(65) }
    }

    /// The contents of files, or of standard input.
    static func files(_ paths: [String], name: String?) throws -> [String: GistEdit.File] {
        var files: [String: GistEdit.File] = [:]
        if let name {
            guard paths.isEmpty else {
                throw ValidationError("use either files, or --name with the text on standard input")
            }
            files[name] = GistEdit.File(content: try text(FileHandle.standardInput.readToEnd() ?? Data(), of: name))
        }
        var sources: [String: String] = [:]
        for path in paths {
            // A gist holds one file of each name.
            let name = URL(filePath: path).lastPathComponent
            if let other = sources.updateValue(path, forKey: name) {
                throw ValidationError(
                    "\(other.shown) and \(path.shown) would be the same file \(name.shown) of the gist: rename one of them"
                )
            }
            let data: Data
            do {
                data = try Data(contentsOf: URL(filePath: path))
            } catch {
                throw AccountError(.inaccessible, "\(path.shown) cannot be read", cause: error)
            }
            files[name] = GistEdit.File(content: try text(data, of: path))
        }
        guard !files.isEmpty else {
            throw ValidationError("name a file, or pass --name and the text on standard input")
        }
        return files
    }

    private static func text(_ data: Data, of name: String) throws(AccountError) -> String {
        // Foundation's initializer would drop a byte order mark.
        guard let text = String(validating: data, as: UTF8.self) else {
            throw AccountError(.invalidArgument, "\(name.shown) is not UTF-8 text, and a gist can contain only text")
        }
        guard !text.isEmpty else {
            throw AccountError(.invalidArgument, "\(name.shown) is empty: the service accepts no empty files")
        }
        return text
    }

    /// The gist's id and stored version, which a change is based on.
    private static func version(of id: String, in gists: OfflineCollection<GistsAPI>) async throws -> (
        id: String, base: String?
    ) {
        let id = try await gists.currentID(of: id)
        guard let gist = try await gists.item(id) else {
            throw AccountError(.invalidArgument, "there is no gist \(id.shown) here: run `gists show \(id.shown)` once")
        }
        return (id, id.hasPrefix(Change.localPrefix) ? nil : gist.updatedAt)
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "create", abstract: "Create a gist.")

        @Argument(help: "The files.") var files: [String] = []
        @Option(help: "The name of a file whose text is read from standard input.") var name: String?
        @Option(help: "A description.") var description: String?
        @Flag(name: .customLong("public"), help: "Make the gist public.") var isPublic = false
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            let edit = GistEdit(description: description, isPublic: isPublic, files: try Gists.files(files, name: name))
            try await Gists.run { gists in
                try await Gists.make([Change(.create, body: try JSONEncoder().encode(edit))], json: json, in: gists)
            }
        }
    }

    struct Edit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "edit", abstract: "Replace files of a gist, or add files.")

        @Argument(help: "The ID of the gist.") var id: String
        @Argument(help: "The files.") var files: [String] = []
        @Option(help: "A description.") var description: String?
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            guard !files.isEmpty || description != nil else {
                throw ValidationError("name a file, or give --description")
            }
            let edit = GistEdit(
                description: description, isPublic: nil, files: files.isEmpty ? [:] : try Gists.files(files, name: nil))
            try await Gists.run { gists in
                let (id, base) = try await Gists.version(of: id, in: gists)
                let change = Change(.update, of: id, body: try JSONEncoder().encode(edit), base: base)
                try await Gists.make([change], json: json, in: gists)
            }
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "delete", abstract: "Delete gists.")

        @Argument(help: "The IDs of the gists.") var ids: [String]
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            try await Gists.run { gists in
                var changes: [Change] = []
                for id in ids {
                    let (id, base) = try await Gists.version(of: id, in: gists)
                    changes.append(Change(.delete, of: id, base: base))
                }
                try await Gists.make(changes, json: json, in: gists)
            }
        }
    }

    struct Star: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "star", abstract: "Star gists.")

        @Argument(help: "The IDs of the gists.") var ids: [String]
        @Flag(help: "Print JSON.") var json = false

        func run() async throws { try await Gists.mark(ids, .star, json: json) }
    }

    struct Unstar: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "unstar", abstract: "Remove the star from gists.")

        @Argument(help: "The IDs of the gists.") var ids: [String]
        @Flag(help: "Print JSON.") var json = false

        func run() async throws { try await Gists.mark(ids, .unstar, json: json) }
    }

    private static func mark(_ ids: [String], _ kind: ChangeKind, json: Bool) async throws {
        try await run { gists in
            var changes: [Change] = []
            for id in ids { changes.append(Change(kind, of: try await gists.currentID(of: id))) }
            try await make(changes, json: json, in: gists)
        }
    }
}
