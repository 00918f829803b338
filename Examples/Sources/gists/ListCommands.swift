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
            /// The ids of gists that cannot be decoded.
            let unreadable: [String]?
            /// Whether `--all` shows only a part of the list.
            let incomplete: Bool?
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
                var isMore = snapshot.hasMore
                while isMore, !offline, !all, snapshot.problem == nil, snapshot.rows.count < limit {
                    let (source, problem): (ListSnapshot<Gist>.Source, AccountError?)
                    (source, (isMore, problem)) = (snapshot.source, await loadMore(name, of: gists))
                    snapshot = try await gists.snapshot(of: name, limit: limit)
                    (snapshot.source, snapshot.problem) = (source, problem)
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

        private func loadMore(_ name: String, of gists: OfflineCollection<GistsAPI>) async -> (Bool, AccountError?) {
            do {
                return (try await gists.loadMore(of: name), nil)
            } catch {
                return (false, error)
            }
        }

        private func print(_ snapshot: ListSnapshot<Gist>) throws {
            if let problem = snapshot.problem, problem.isAboutUser { throw problem }
            guard snapshot.asOf != nil || snapshot.problem == nil && !offline || !snapshot.rows.isEmpty else {
                throw snapshot.problem
                    ?? AccountError(
                        .serviceUnavailable,
                        "this list is not stored here: run `gists list \(list.rawValue)` once without --offline")
            }
            let rows = Array(all ? snapshot.rows[...] : snapshot.rows.dropFirst((page - 1) * 30).prefix(30))
            let isStored = !rows.isEmpty || all || page == 1 || !snapshot.hasMore
            guard isStored || snapshot.problem == nil && !offline else { throw pageMissing(because: snapshot.problem) }
            // The list of all public gists is endless.
            let isIncomplete =
                all && list != .public
                && (snapshot.hasMore || rows.contains(where: \.followsGap) || !snapshot.unreadableIDs.isEmpty
                    || snapshot.hasUnidentifiedItems)
            if json {
                let hasNext = !all && (snapshot.hasMore || snapshot.rows.count > page * 30)
                try Output.print(
                    json: Document(
                        list: list.rawValue, source: snapshot.source.rawValue, asOf: snapshot.asOf,
                        offline: offline || snapshot.problem != nil,
                        gists: rows.map { GistDocument($0.item, isPending: $0.isPending) },
                        gaps: rows.indices.filter { rows[$0].followsGap }, next: hasNext ? page + 1 : nil,
                        unreadable: snapshot.unreadableIDs.isEmpty ? nil : snapshot.unreadableIDs,
                        incomplete: isIncomplete ? true : nil))
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
                Output.say(age + ", " + (snapshot.problem?.line(of: "gists") ?? "offline"))
            }
            if !snapshot.unreadableIDs.isEmpty {
                Output.say(
                    "not shown, because they cannot be read: \(snapshot.unreadableIDs.joined(separator: ", ").shown)")
            }
            if snapshot.hasUnidentifiedItems { Output.say("not shown: gists that the service sent without an ID") }
            guard isIncomplete else { return }
            let advice = offline ? ": run `gists list \(list.rawValue) --all` without --offline" : ""
            Output.say("incomplete: these are not all gists of the list" + advice)
            throw ExitCode(69)
        }

        private func pageMissing(because problem: AccountError?) -> AccountError {
            let message = "page \(page) of this list is not stored here"
            guard var problem else {
                return AccountError(
                    .serviceUnavailable,
                    message + ": run `gists list \(list.rawValue) --page \(page)` without --offline")
            }
            problem.message = message + ", and cannot be requested: " + problem.message
            return problem
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
                guard let stored = try await gists.storedItem(id) else {
                    if problem?.code == .requestRefused, problem?.hint == nil {
                        problem?.hint = "`gists list` shows the IDs of your gists"
                    }
                    throw problem
                        ?? AccountError(
                            .serviceUnavailable,
                            "this gist is not stored here: run `gists show \(id.shown)` once without --offline")
                }
                if let problem, problem.isAboutUser { throw problem }
                let isWhole = try print(stored.item, stored, problem)
                if offline || problem != nil {
                    Output.say(
                        (stored.asOf.map { "as of \($0.shown)" } ?? "as it is stored here") + ", "
                            + (problem?.line(of: "gists") ?? "offline"))
                }
                if stored.isOutdated {
                    Output.say("this is an old version, and the service has a newer one" + (advice ?? ""))
                }
                guard isWhole else { throw ExitCode(69) }
            }
        }

        /// How to get what is missing here, or `nil` if the service was just asked.
        private var advice: String? { offline ? ": run `gists show \(id.shown)` without --offline" : nil }

        /// Prints the gist. Returns whether the output is complete.
        private func print(
            _ gist: Gist, _ stored: OfflineCollection<GistsAPI>.StoredItem, _ problem: AccountError?
        ) throws -> Bool {
            if !gist.unreadableFiles.isEmpty {
                Output.say("these files cannot be read: \(gist.unreadableFiles.joined(separator: ", ").shown)")
            }
            let names = gist.files.keys.sorted()
            if json {
                try Output.print(
                    json: GistDocument(
                        gist, isPending: false, asOf: stored.asOf, isOutdated: stored.isOutdated))
                let gaps = names.compactMap { gist.files[$0]?.gap($0.shown) }
                for gap in gaps { sayIncomplete(gap) }
                sayFilesMissing(gist)
                return gaps.isEmpty && !gist.lacksFiles
            }
            let isAlone = names.count == 1 && !gist.lacksFiles
            guard let name = file ?? (isAlone ? names.first : nil) else {
                for name in names { try Output.print(name.shown) }
                if names.isEmpty, !gist.lacksFiles { Output.say("this gist has no files") }
                sayFilesMissing(gist)
                return !gist.lacksFiles
            }
            guard let file = gist.files[name] else {
                sayFilesMissing(gist)
                throw gist.unreadableFiles.contains(name)
                    ? AccountError(.requestRefused, "the file \(name.shown) cannot be read")
                    : AccountError(
                        .invalidArgument,
                        "there is no file \(name.shown) in it"
                            + (gist.truncated == true
                                ? " that the service sends" : ", only \(gist.names): use --file with one of these"))
            }
            guard let text = file.content else {
                throw problem
                    ?? AccountError(
                        .serviceUnavailable,
                        offline ? "its text is not stored here" + (advice ?? "") : "the service does not send its text")
            }
            try Output.write(content: text)
            guard let gap = file.gap(name.shown) else { return true }
            sayIncomplete(gap)
            return false
        }

        private func sayIncomplete(_ gap: String) { Output.say("incomplete: " + gap + (advice ?? "")) }

        private func sayFilesMissing(_ gist: Gist) {
            guard gist.truncated == true else { return }
            let count = gist.files.count
            Output.say(
                "incomplete: the service sends only \(count) file\(count == 1 ? "" : "s") of this gist (GitHub: at most 300); "
                    + "clone it with git for the others")
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
    /// Whether the gist has more files.
    let truncated: Bool?
    /// The names of files that cannot be read.
    let unreadable: [String]?
    let asOf: Date?
    let outdated: Bool?

    enum CodingKeys: String, CodingKey {
        case id, description, files, updatedAt, pending, truncated, unreadable, asOf, outdated
        case isPublic = "public"
    }

    init(_ gist: Gist, isPending: Bool, asOf: Date? = nil, isOutdated: Bool = false) {
        id = gist.id
        description = gist.description
        isPublic = gist.isPublic
        files = gist.files.values.sorted { $0.filename < $1.filename }
        updatedAt = gist.updatedAt
        pending = isPending ? true : nil
        truncated = gist.truncated == true ? true : nil
        unreadable = gist.unreadableFiles.isEmpty ? nil : gist.unreadableFiles
        self.asOf = asOf
        outdated = isOutdated ? true : nil
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
