#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The part of the gists API's state that a restart resets.
struct GistControls: Sendable {
    var settings = GistSettings()
    var rateLimits = GistRateLimits()
    /// The sorted lists, cached until the next change.
    fileprivate var lists: [GistList: [Gist]] = [:]
}

/// The user of a request to the gists API.
struct GistCaller: Sendable {
    let user: User
    /// Whether the token's scope allows changes.
    let mayWrite: Bool
}

extension AuthorizationServer {
    /// The user of an access token.
    ///
    /// - Throws: `GistError.badCredentials` if the token is expired, revoked or unknown.
    func gistCaller(accessToken: String) throws -> GistCaller {
        let now = clock.now
        guard
            case .user(let username, let scope) = try update({ $0.grants.use(accessToken, kind: .oauth, now: now) }),
            let user = settings.users[username]
        else { throw GistError.badCredentials }
        return GistCaller(user: user, mayWrite: settings.personality.allowsGists(scope))
    }

    /// A page of a list.
    ///
    /// - Parameters:
    ///   - list: The list.
    ///   - since: A date; only gists that changed later are returned. `nil` for all gists.
    ///   - page: The page.
    /// - Returns: The gists of the page, and the number of gists on all pages.
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
