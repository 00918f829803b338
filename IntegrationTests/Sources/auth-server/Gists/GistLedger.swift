#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// All gists and stars, and the rules for changing them.
///
/// A value type without side effects: the caller passes the time and keeps the result.
struct GistLedger: Codable, Equatable, Sendable {
    private(set) var gists: [String: Gist] = [:]
    /// The ids of the gists that each user has starred.
    private var stars: [String: Set<String>] = [:]
    /// The changes of clients, in order.
    private(set) var changes: [AppliedGistChange] = []
    private var lastRevision = 0

    /// The gists of a list, sorted.
    func gists(in list: GistList) -> [Gist] {
        let chosen =
            switch list {
            case .ownedBy(let user): gists.values.filter { $0.owner == user }
            case .starredBy(let user): stars[user, default: []].compactMap { gists[$0] }
            case .everyPublicOne: gists.values.filter(\.isPublic)
            }
        return chosen.sorted { $0.isBefore($1) }
    }

    /// - Throws: `GistError.notFound`.
    func gist(_ id: String) throws -> Gist {
        guard let gist = gists[id] else { throw GistError.notFound }
        return gist
    }

    func isStarred(_ id: String, by user: String) -> Bool { stars[user, default: []].contains(id) }

    /// The names of the users who have starred a gist, in alphabetical order.
    func stargazers(of id: String) -> [String] {
        stars.filter { $0.value.contains(id) }.keys.sorted()
    }
}

// MARK: - Changes

extension GistLedger {
    /// Adds a gist.
    ///
    /// - Throws: `GistError.invalid` if it has no files.
    mutating func create(_ draft: GistEdit, owner: String, now: Date) throws -> Gist {
        let files = try draft.applied(to: [:])
        let gist = Gist(
            id: RandomText.hexadecimal(32),
            owner: owner,
            description: draft.description ?? nil,
            isPublic: draft.isPublic ?? false,
            files: files,
            createdAt: now.wholeSeconds,
            updatedAt: now.wholeSeconds,
            revision: nextRevision()
        )
        gists[gist.id] = gist
        return gist
    }

    /// Changes the description and files.
    ///
    /// - Parameter owner: The user who changes the gist. Another user's gist is not found. With `nil`, the owner is not
    ///   checked.
    /// - Throws: `GistError`.
    mutating func edit(_ id: String, _ edit: GistEdit, owner: String?, now: Date) throws -> Gist {
        var gist = try ownGist(id, owner: owner)
        guard edit.description != nil || edit.files != nil else { throw GistError.nothingToChange }
        gist.files = try edit.applied(to: gist.files)
        if let description = edit.description {
            gist.description = description
        }
        gist.updatedAt = now.wholeSeconds
        gist.revision = nextRevision()
        gists[id] = gist
        return gist
    }

    /// Removes a gist and its stars.
    ///
    /// - Parameter owner: As in `edit`.
    /// - Throws: `GistError.notFound`.
    mutating func delete(_ id: String, owner: String?) throws {
        _ = try ownGist(id, owner: owner)
        gists[id] = nil
        for user in stars.keys {
            stars[user]?.remove(id)
        }
    }

    /// Stars a gist for a user, or removes the star.
    ///
    /// - Returns: Whether the star has changed.
    /// - Throws: `GistError.notFound`.
    mutating func setStar(_ isStarred: Bool, _ id: String, by user: String) throws -> Bool {
        _ = try gist(id)
        guard isStarred else { return stars[user]?.remove(id) != nil }
        return stars[user, default: []].insert(id).inserted
    }

    mutating func note(_ change: AppliedGistChange) { changes.append(change) }

    private func ownGist(_ id: String, owner: String?) throws -> Gist {
        let gist = try gist(id)
        guard owner == nil || owner == gist.owner else { throw GistError.notFound }
        return gist
    }

    private mutating func nextRevision() -> Int {
        lastRevision += 1
        return lastRevision
    }
}

// MARK: - Many at once

extension GistLedger {
    /// Adds many secret gists of a user, "Gist 1" to "Gist N". The last one has the current time, and each gist is a
    /// minute older than the next.
    ///
    /// - Returns: The gists' ids, in order of their numbers.
    mutating func seed(_ count: Int, of user: String, isStarred: Bool, now: Date) -> [String] {
        (0..<max(0, count)).map { index in
            let number = index + 1
            let date = now.addingTimeInterval(Double(number - count) * 60).wholeSeconds
            let gist = Gist(
                id: RandomText.hexadecimal(32),
                owner: user,
                description: "Gist \(number)",
                isPublic: false,
                files: ["gist-\(number).txt": "This is Gist \(number).\n"],
                createdAt: date,
                updatedAt: date,
                revision: nextRevision()
            )
            gists[gist.id] = gist
            if isStarred {
                stars[user, default: []].insert(gist.id)
            }
            return gist.id
        }
    }
}
