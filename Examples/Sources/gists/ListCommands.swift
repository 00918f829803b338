import AccountKit
import AccountOffline
import ArgumentParser
import Foundation
import Terminal

extension Gists {
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List your gists, the gists you starred, or all public gists.")

        enum Name: String, ExpressibleByArgument, CaseIterable { case mine, starred, `public` }

        @Argument(help: "The list: mine, starred or public.") var list = Name.mine
        @Option(help: "The page to show; a page has 30 gists.") var page = 1
        @Flag(help: "Show all pages; for public, all gists that are stored.") var all = false
        @Flag(help: "Do not connect to the service.") var offline = false
        @Flag(help: "Print JSON.") var json = false

        func validate() throws {
            guard page >= 1, page <= 100_000 else { throw ValidationError("--page begins with 1") }
        }

        private struct Document: Encodable {
            let list, source: String
            let asOf: Date?
            let offline: Bool
            let gists: [GistDocument]
            /// The indices of gists before which other gists may be missing.
            let gaps: [Int]
            let next: Int?
        }

        func run() async throws {
            try await Gists.run { gists in
                let name = list.rawValue
                let limit = all ? 1_000_000 : page * 30
                // The list of all public gists is endless.
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
                        .serviceUnavailable, "this list is not stored here: list it once without --offline")
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
                Output.say(age + ", " + (snapshot.problem?.description.shown ?? "offline"))
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show the text of a gist, or the names of its files if there are several.")

        @Argument(help: "The ID of the gist.") var id: String
        @Option(help: "The file to show.") var file: String?
        @Flag(help: "Do not connect to the service.") var offline = false
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
                    try Output.write(content: text)
                } else {
                    for name in gist.files.keys.sorted() { try Output.print(name.shown) }
                }
                if let problem { Output.say("as it was stored here; \(problem.description.shown)") }
            }
        }
    }
}

extension AccountError {
    /// Whether the user of the request is no longer signed in. In that case, the stored rows must not be shown.
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

    /// The id, files and description.
    var line: String {
        let description = (description ?? "").shown
        return "\(id.shown)  \(names)" + (description.isEmpty ? "" : "  \(description)")
            + (isPublic ? "" : "  (secret)")
    }
}
