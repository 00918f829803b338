import AccountKit
import AccountOffline
import ArgumentParser
import Foundation
import Terminal

extension Gists {
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List gists: mine, starred, or everyone's public ones.")

        enum Name: String, ExpressibleByArgument, CaseIterable { case mine, starred, `public` }

        @Argument(help: "mine, starred or public.") var list = Name.mine
        @Option(help: "Which page of 30.") var page = 1
        @Flag(help: "All that there are; of the public ones, all that are stored.") var all = false
        @Flag(help: "Do not ask the service.") var offline = false
        @Flag(help: "Print JSON.") var json = false

        func validate() throws {
            guard page >= 1, page <= 100_000 else { throw ValidationError("--page begins with 1") }
        }

        private struct Document: Encodable {
            let list, source: String
            let asOf: Date?
            let offline: Bool
            let gists: [GistDocument]
            /// The places of gists before which some may be missing.
            let gaps: [Int]
            let next: Int?
        }

        func run() async throws {
            try await Gists.run { gists in
                let name = list.rawValue
                let limit = all ? 1_000_000 : page * 30
                // All of the public ones would never end.
                let isWhole = all && list != .public && !offline
                let (source, problem) = isWhole ? await refreshAll(name, of: gists) : (nil, nil)
                var snapshot =
                    try await offline || isWhole
                    ? gists.snapshot(of: name, limit: limit) : gists.refresh(name, limit: limit)
                if let source { snapshot.source = source }
                snapshot.problem = problem ?? snapshot.problem
                while !offline, !all, snapshot.problem == nil, snapshot.rows.count < limit, snapshot.hasMore {
                    let (source, count) = (snapshot.source, snapshot.rows.count)
                    let failure = await loadMore(name, of: gists)
                    snapshot = try await gists.snapshot(of: name, limit: limit)
                    (snapshot.source, snapshot.problem) = (source, failure)
                    if snapshot.rows.count == count { break }
                }
                try print(snapshot)
            }
        }

        private func refreshAll(
            _ name: String, of gists: OfflineCollection<GistsAPI>
        ) async -> (ListSnapshot<Gist>.Source?, AccountError?) {
            do {
                return (try await gists.refreshAll(name), nil)
            } catch {
                return (nil, error)
            }
        }

        private func loadMore(_ name: String, of gists: OfflineCollection<GistsAPI>) async -> AccountError? {
            do {
                _ = try await gists.loadMore(of: name)
                return nil
            } catch {
                return error
            }
        }

        private func print(_ snapshot: ListSnapshot<Gist>) throws {
            if let problem = snapshot.problem, problem.isAboutUser { throw problem }
            guard snapshot.asOf != nil || snapshot.problem == nil && !offline || !snapshot.rows.isEmpty else {
                throw snapshot.problem
                    ?? AccountError(
                        .serviceUnavailable, "nothing is stored of this list: run it once without --offline")
            }
            let rows = Array(all ? snapshot.rows[...] : snapshot.rows.dropFirst((page - 1) * 30).prefix(30))
            if json {
                let hasNext = !all && (snapshot.hasMore || snapshot.rows.count > page * 30)
                try Output.print(
                    json: Document(
                        list: list.rawValue, source: snapshot.source.rawValue, asOf: snapshot.asOf,
                        offline: offline || snapshot.problem != nil,
                        gists: rows.map { GistDocument($0.item, isPending: $0.isPending) },
                        gaps: rows.indices.filter { rows[$0].followsGap }, next: hasNext ? page + 1 : nil))
            } else {
                let lines = rows.map { row in
                    (row.followsGap ? "…\n" : "") + row.item.line + (row.isPending ? "  (not sent yet)" : "") + "\n"
                }
                try Output.write(lines.joined())
            }
            if offline || snapshot.problem != nil {
                let age =
                    snapshot.asOf.map { "as of \($0.shown)" }
                    ?? "of unknown age"
                Output.say(age + ", " + (snapshot.problem?.message.shown ?? "offline"))
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show a gist: its only file's text, or the names of its files.")

        @Argument(help: "The gist.") var id: String
        @Option(help: "Show this file.") var file: String?
        @Flag(help: "Do not ask the service.") var offline = false
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            try await Gists.run { gists in
                var problem: AccountError?
                if !offline {
                    do throws(AccountError) {
                        try await gists.refreshItem(id)
                    } catch {
                        problem = error
                    }
                }
                guard let gist = try await gists.item(id) else {
                    throw problem
                        ?? AccountError(
                            .serviceUnavailable, "this gist is not stored here: show it once without --offline")
                }
                if let problem, problem.isAboutUser { throw problem }
                if json {
                    try Output.print(json: GistDocument(gist, isPending: false))
                } else if let name = file ?? (gist.files.count == 1 ? gist.files.keys.first : nil) {
                    guard let file = gist.files[name] else {
                        throw AccountError(.invalidArgument, "there is no file \(name.shown) in it, only \(gist.names)")
                    }
                    guard let text = file.content else {
                        throw problem
                            ?? AccountError(.serviceUnavailable, "its text is not stored here: show it once online")
                    }
                    try Output.write(text)
                } else {
                    for name in gist.files.keys.sorted() { try Output.print(name.shown) }
                }
                if let problem { Output.say("as it was stored here; \(problem.message.shown)") }
            }
        }
    }
}

extension AccountError {
    /// Whether the user who began is no longer signed in: then the stored rows are not shown in place of an answer.
    fileprivate var isAboutUser: Bool { code == .notSignedIn || code == .conflict }
}

/// A gist in JSON.
struct GistDocument: Encodable {
    let id: String
    let description: String?
    let isPublic: Bool
    let files: [Gist.File]
    let updatedAt: String
    let pending: Bool?

    enum CodingKeys: String, CodingKey {
        case id, description, files, updatedAt, pending
        case isPublic = "public"
    }

    init(_ gist: Gist, isPending: Bool) {
        id = gist.id
        description = gist.description
        isPublic = gist.isPublic
        files = gist.files.values.sorted { $0.filename < $1.filename }
        updatedAt = gist.updatedAt
        pending = isPending ? true : nil
    }
}

extension Gist {
    var names: String { files.keys.sorted().map(\.shown).joined(separator: ", ") }

    /// Id, files, description.
    var line: String {
        let description = (description ?? "").shown
        return "\(id.shown)  \(names)" + (description.isEmpty ? "" : "  \(description)")
            + (isPublic ? "" : "  (secret)")
    }
}
