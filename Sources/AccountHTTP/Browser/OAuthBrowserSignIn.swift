import AccountKit
import Synchronization

/// A sign-in that waits for the browser.
///
/// It stops listening when ``account()`` is done, or when the value is dropped without that.
final class OAuthBrowserSignIn: BrowserSignIn {
    let address: String
    let lifetime: Duration

    private let authority: OAuthAuthority
    private let request: AuthorizationRequest
    private let namesIssuer: Bool
    private let desk: CallbackDesk
    private let listener: LoopbackListener
    private let isTaken = Mutex(false)

    /// How long to wait for the browser to fetch the result page.
    private let deliveryTime: Duration

    init(
        _ authority: OAuthAuthority, _ request: AuthorizationRequest, address: String, lifetime: Duration,
        namesIssuer: Bool, desk: CallbackDesk, listener: LoopbackListener, deliveryTime: Duration
    ) {
        self.authority = authority
        self.request = request
        self.address = address
        self.lifetime = lifetime
        self.namesIssuer = namesIssuer
        self.desk = desk
        self.listener = listener
        self.deliveryTime = deliveryTime
    }

    deinit { listener.stop() }

    func account() async throws(AuthoritySignal) -> Account {
        let isFirst = isTaken.withLock { isTaken in
            defer { isTaken = true }
            return !isTaken
        }
        guard isFirst else { throw .unclear("this sign-in was waited for already: begin a new one") }

        guard let response = await response() else {
            let signal: AuthoritySignal =
                Task.isCancelled
                ? .noReply(.cancelled) : .signInRefused("nobody signed in with the browser within \(lifetime.text)")
            desk.finish(with: ResultPage(signal, hiding: request.secrets))
            await listener.close()
            throw signal
        }
        let secrets = request.secrets + (response.code.map { [$0] } ?? [])
        let result: Result<Account, AuthoritySignal>
        do throws(AuthoritySignal) {
            let account = try await account(for: response)
            desk.finish(with: ResultPage(signedIn: account, hiding: secrets))
            result = .success(account)
        } catch {
            desk.finish(with: ResultPage(error, hiding: secrets))
            result = .failure(error)
        }
        await waitForDelivery()
        await listener.close()
        return try result.get()
    }

    /// What the browser brings; `nil` if the task was cancelled, or if nobody came in time.
    private func response() async -> AuthorizationResponse? {
        await withTaskGroup(of: AuthorizationResponse?.self) { group in
            group.addTask { [responses = desk.responses] in await responses.first { _ in true } }
            group.addTask { [lifetime] in
                // It throws only when it is not needed any more.
                try? await Task.sleep(for: lifetime)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }

    private func account(for response: AuthorizationResponse) async throws(AuthoritySignal) -> Account {
        let code = try response.code(
            from: authority.issuerIdentifier, namingIssuer: namesIssuer, hiding: request.secrets)
        let (credentials, reply) = try await authority.requestTokens(request.form(with: code), for: request.clientID)
        if let token = credentials.idToken {
            guard let token = IDToken(token) else {
                throw .unclear("the ID token of \(authority.issuer) cannot be read")
            }
            try token.check(
                issuer: authority.issuerIdentifier, clientID: request.clientID, nonce: request.nonce,
                at: reply.date ?? reply.receivedAt)
        }
        return try await authority.account(with: credentials, signedInAs: nil)
    }

    /// Returns when a browser has the result page, or when it has had time enough.
    private func waitForDelivery() async {
        await withTaskGroup { group in
            group.addTask { [deliveries = desk.deliveries] in
                for await _ in deliveries { break }
            }
            group.addTask { [deliveryTime] in
                // It throws only when it is not needed any more.
                try? await Task.sleep(for: deliveryTime)
            }
            await group.next()
            group.cancelAll()
        }
    }
}
