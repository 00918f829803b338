import AccountKit
import AccountSupport

/// The services of accounts.
extension APIServices {
    /// Returns the service that issued an account's tokens.
    func service(of account: Account) throws(AuthorityError) -> OAuthService {
        guard let issuer = account.issuer, isFor(account) else {
            throw .misconfigured("the account is not for \(url), so its token is not used there")
        }
        do throws(AccountError) {
            return try cache.service(of: account) { () throws(AccountError) in
                var settings = settings
                // An account that an app created itself names no resources.
                if !account.credentials.resources.isEmpty { settings.options.resources = account.credentials.resources }
                let named = try Issuer(issuer)
                return try OAuthService(
                    Issuer(named.url, form: knownForm(of: named) ?? .exact), known: knownService(at: named),
                    api: APIOrigin(url: url, namer: isIssuerNamed ? nil : url, isIssuerGiven: true), settings)
            }
        } catch {
            throw .misconfigured(error.userText)
        }
    }

    /// Returns the service that issued an account's tokens, if the app or the user named it, or if it is a known service.
    func givenService(of account: Account) throws(AuthorityError) -> OAuthService? {
        let service = try service(of: account)
        return isIssuerNamed || service.connection.isAPI || service.connection.known != nil ? service : nil
    }

    /// Returns whether a sign-in for this API obtained the account.
    func isFor(_ account: Account) -> Bool {
        guard let other = account.issuer else { return false }
        let resources = account.credentials.resources
        if resources.contains(where: { ProtectedResource.covers($0, url) }) { return true }
        // An API without metadata has the URL of its issuer.
        if (try? Issuer(url.description))?.isSame(as: other) == true { return true }
        // The issuer may have issued the token for another API. An account that an app created itself names no resources.
        let requested = settings.options.resources + (cache.signIn?.connection.options.resources ?? [])
        guard resources.isEmpty || resources.contains(where: requested.contains) else { return false }
        if let signIn = cache.signIn, signIn.connection.isIssuer(of: account) { return true }
        if let issuer { return (try? Issuer(issuer))?.isSame(as: other) ?? false }
        // The issuer of an API without metadata may have the same origin.
        return resources.isEmpty && Issuer(url.origin, form: .exact).isSame(as: other)
    }
}
