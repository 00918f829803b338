#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What the gists API needs besides the gists, and what a restart forgets.
struct GistControls: Sendable {
    var settings = GistSettings()
    var rateLimits = GistRateLimits()
    /// Lists in their order, as long as nothing has changed.
    fileprivate var lists: [GistList: [Gist]] = [:]
}

/// Who makes a request to the gists API.
struct GistCaller: Sendable {
    let user: User
    /// Whether the scope of the token is enough for changes.
    let mayWrite: Bool
}

extension AuthorizationServer {
    /// The user whose access token it is.
    ///
    /// - Throws: `GistError.badCredentials` when it is expired, revoked or unknown.
    func gistCaller(accessToken: String) throws -> GistCaller {
        let now = clock.now
        guard
            case .user(let username, let scope) = try update({ $0.grants.use(accessToken, kind: .oauth, now: now) }),
            let user = settings.users[username]
        else { throw GistError.badCredentials }
        return GistCaller(user: user, mayWrite: settings.quirks.allowsGists(scope))
    }

    /// A part of a list.
    ///
    /// - Parameters:
    ///   - list: the list.
    ///   - since: those changed later only.
    ///   - page: the page.
    /// - Returns: the gists of the page, and how many there are on all pages.
    func gists(in list: GistList, since: Date?, page: Page) -> (gists: [Gist], total: Int) {
        var gists = gistControls.lists[list] ?? state.gists.gists(in: list)
        gistControls.lists[list] = gists
        if let since {
            gists = Array(gists.prefix { $0.updatedAt > since })
        }
        return (Array(gists.dropFirst(page.offset).prefix(page.size)), gists.count)
    }

    func readGists<Outcome: Sendable>(_ read: @Sendable (GistLedger) throws -> Outcome) rethrows -> Outcome {
        try read(state.gists)
    }

    func updateGists<Outcome: Sendable>(_ change: @Sendable (inout GistLedger) throws -> Outcome) throws -> Outcome {
        gistControls.lists = [:]
        return try update { try change(&$0.gists) }
    }

    func updateGistControls<Outcome: Sendable>(_ change: @Sendable (inout GistControls) -> Outcome) -> Outcome {
        change(&gistControls)
    }
}
