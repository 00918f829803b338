import AccountKit
import AccountSupport

/// A sign-in with an authorization code, PKCE and a loopback redirect (RFC 6749, section 4.1; RFC 7636; RFC 8252, section
/// 7.3).
extension SignInGrants {
    /// - Parameter deliveryTime: How long to wait for the browser to fetch the result page at the end of the sign-in.
    func beginBrowserSignIn(
        deliveryTime: Duration = .seconds(15), lifetime: Duration = .seconds(600)
    ) async throws -> OAuthBrowserSignIn {
        let (documents, options) = (connection.documents, connection.options)
        guard clients.client.canBeChosen else { throw clients.notRegistered }
        guard let endpoint = try await documents.endpoint(.authorization) else {
            throw documents.flaw(of: .authorization)
                ?? AuthorityError.misconfigured("\(connection.name) does not support sign-in with a browser")
        }
        try connection.api?.checkChallengeMethods(in: endpoint.document, of: connection.name, connection.quirks)
        let scopes = try await scopes.requested()
        let redirect = try options.redirectURI.map { text throws(AccountError) in try LoopbackRedirect(text) }
        let state = Base64URL.random()
        let receiver = RedirectReceiver(expecting: state, at: redirect?.path ?? LoopbackRequest.callbackPath)
        let (chosen, listener) = try await registrar.chooseClient(for: scopes, receiver, redirect)
        let request = AuthorizationRequest(
            clientID: chosen.id, scopes: scopes, port: listener.port, state: state, options: options,
            resources: connection.sentResources, quirks: connection.quirks)
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
            lifetime: lifetime, pageLifetime: pushed?.lifetime, namesIssuer: endpoint.document.namesIssuer,
            receiver: receiver,
            listener: listener,
            deliveryTime: deliveryTime)
    }
}
