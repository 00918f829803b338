import AccountKit
import Logging

/// The scopes of a sign-in at one service.
struct ScopeChoice: Sendable {
    let connection: ServiceConnection

    /// The scopes of a sign-in (RFC 6749, section 3.3).
    let scopes: [String]

    /// The scopes that the app or the user chose.
    private let chosen: Set<String>

    /// Whether to request `offline_access` if the service lists it. `true` only if the app chose no scopes.
    private let asksForOfflineAccess: Bool

    init(at connection: ServiceConnection, _ settings: OAuthSettings) throws(AccountError) {
        self.connection = connection
        asksForOfflineAccess = settings.scopes == nil
        chosen = Set((settings.scopes ?? []) + settings.additionalScopes)
        var scopes =
            settings.scopes ?? connection.api?.scopes ?? connection.known?.scopes ?? ["openid", "profile", "email"]
        scopes += settings.additionalScopes.filter { !scopes.contains($0) }
        for scope in scopes where !RequestRules.isScope(scope) {
            throw AccountError(
                .invalidArgument, "\"\(scope)\" is not a single scope", hint: "pass one scope per list element")
        }
        self.scopes = scopes
    }

    /// Returns the scopes to request. If the app chose no scopes and the service lists `offline_access`, they include
    /// it to obtain a refresh token.
    ///
    /// If the service lists its scopes without `openid`, it does not identify users with OpenID Connect, so the scopes that
    /// AccountKit chose for this are left out. Scopes that the app or the user chose stay.
    func requested() async throws(AuthorityError) -> [String] {
        let documents = connection.documents
        var scopes = try await connection.api?.limited(self.scopes, documents) ?? self.scopes
        if scopes.contains(Scope.openID),
            let listed = try await documents.scopes(), !listed.contains(Scope.openID)
        {
            scopes.removeAll { Scope.ofOpenID.contains($0) && !listed.contains($0) && !chosen.contains($0) }
        }
        guard asksForOfflineAccess, !scopes.contains(Scope.offlineAccess),
            try await documents.scopes()?.contains(Scope.offlineAccess) == true
        else { return scopes }
        return scopes + [Scope.offlineAccess]
    }

    /// The scopes of a sign-in as the client, which has no user info and no refresh token.
    var ofMachine: [String] {
        guard let api = connection.api else { return scopes }
        return scopes.filter { !api.tentativeScopes.contains($0) && $0 != Scope.offlineAccess }
    }

    /// Returns the requested scopes; an empty array if they are unknown.
    func known() async -> [String] {
        do throws(AuthorityError) {
            return try await requested()
        } catch {
            connection.logger?.debug("the scopes of the sign-in are not known", metadata: ["error": "\(error)"])
            return []
        }
    }

    /// Returns advice on how to get a refresh token. With `offline_access`, a service may issue one only if the user
    /// consents at each sign-in (OpenID Connect Core, section 11).
    func refreshTokenAdvice(usesBrowser: Bool) async -> RefreshTokenAdvice? {
        let (asked, offered): ([String], [String])
        do throws(AuthorityError) {
            // The sign-in has already read the documents.
            (asked, offered) = (try await requested(), try await connection.documents.scopes() ?? [])
        } catch {
            connection.logger?.debug("the scopes of the service are not known", metadata: ["error": "\(error)"])
            return nil
        }
        guard asked.contains(Scope.offlineAccess) else {
            return offered.contains(Scope.offlineAccess) ? .scope(Scope.offlineAccess) : nil
        }
        let isSent =
            connection.options.parameters["prompt"] != nil
            || connection.quirks.authorizationParameters["prompt"] != nil
        return usesBrowser && !isSent ? .parameter(name: "prompt", value: "consent") : nil
    }
}
