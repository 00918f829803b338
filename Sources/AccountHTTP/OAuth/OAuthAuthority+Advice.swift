package import AccountKit
import Logging

extension OAuthAuthority {
    /// Returns advice on how to get a refresh token. With `offline_access`, a service may issue one only if the user
    /// consents at each sign-in (OpenID Connect Core, section 11).
    package func refreshTokenAdvice(usesBrowser: Bool) async -> RefreshTokenAdvice? {
        let (asked, offered): ([String], [String])
        do throws(AuthorityError) {
            // The sign-in has already read the documents.
            (asked, offered) = (try await requestedScopes(), try await documents.scopes() ?? [])
        } catch {
            logger?.debug("the scopes of the service are not known", metadata: ["error": "\(error)"])
            return nil
        }
        guard asked.contains(Scope.offlineAccess) else {
            return offered.contains(Scope.offlineAccess) ? .scope(Scope.offlineAccess) : nil
        }
        let isSent = options.parameters["prompt"] != nil || quirks.authorizationParameters["prompt"] != nil
        return usesBrowser && !isSent ? .parameter(name: "prompt", value: "consent") : nil
    }

    package func signInScopes() async -> [String] {
        do throws(AuthorityError) {
            return try await requestedScopes()
        } catch {
            logger?.debug("the scopes of the sign-in are not known", metadata: ["error": "\(error)"])
            return []
        }
    }
}
