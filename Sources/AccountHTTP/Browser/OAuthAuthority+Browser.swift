public import AccountKit
import AccountSupport

extension OAuthAuthority: BrowserAuthority {
    /// Prepares a sign-in with an authorization code, PKCE and a loopback redirect (RFC 6749, section 4.1; RFC 7636;
    /// RFC 8252, section 7.3).
    ///
    /// The service must accept the redirect URI `http://127.0.0.1/callback` with any port, or the redirect URI in the
    /// options. For Microsoft, the redirect URI is `http://localhost/callback`, and a ``KnownService`` may have another one. The sign-in listens only on the
    /// loopback interface, stops listening when it ends, and shows its result in the browser.
    ///
    /// - Throws: An `AuthorityError`: `misconfigured` if the service has no authorization endpoint; an `AccountError`
    ///   if no port is available, or if the registration of the app cannot be stored.
    public func beginBrowserSignIn() async throws -> any BrowserSignIn {
        try await beginBrowserSignIn(deliveryTime: .seconds(15))
    }

    /// - Parameter deliveryTime: How long to wait for the browser to fetch the result page at the end of the sign-in.
    func beginBrowserSignIn(deliveryTime: Duration, lifetime: Duration = .seconds(600)) async throws
        -> OAuthBrowserSignIn
    {
        if !client.canBeChosen { _ = try signInClient() }
        guard let endpoint = try await documents.endpoint(.authorization) else {
            throw documents.flaw(of: .authorization)
                ?? AuthorityError.misconfigured("\(issuer) does not support sign-in with a browser")
        }
        if let api { try api.checkChallengeMethods(in: endpoint.document, of: issuer, quirks) }
        let scopes = try await requestedScopes()
        let redirect = try options.redirectURI.map { text throws(AccountError) in try LoopbackRedirect(text) }
        let state = Base64URL.random()
        let receiver = RedirectReceiver(expecting: state, at: redirect?.path ?? LoopbackRequest.callbackPath)
        let (chosen, listener) = try await chooseClient(for: scopes, receiver, redirect)
        let request = AuthorizationRequest(
            clientID: chosen.client.id, scopes: scopes, port: listener.port, state: state, options: options,
            resources: sentResources, quirks: quirks)
        let key = try newKey()
        var pushed: PushedRequest?
        if endpoint.document.requiresPushedRequests {
            do throws(AuthorityError) {
                pushed = try await push(request, as: chosen, key: key)
            } catch {
                await listener.close()
                chosen.use?.end()
                throw error
            }
        }
        return OAuthBrowserSignIn(
            self, chosen, request, key: key, url: request.url(at: endpoint.url, pushedAs: pushed?.uri),
            lifetime: lifetime,
            pageLifetime: pushed?.lifetime, namesIssuer: endpoint.document.namesIssuer, receiver: receiver,
            listener: listener,
            deliveryTime: deliveryTime)
    }
}
