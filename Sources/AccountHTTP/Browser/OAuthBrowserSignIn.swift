import AccountKit
import AccountSupport
import Synchronization

/// A sign-in with a browser, which stops listening in ``finish(with:)`` or when the object is deinitialized.
final class OAuthBrowserSignIn: BrowserSignIn {
    let url: String
    let lifetime: Duration
    let pageLifetime: Duration?

    private let grants: SignInGrants
    private let client: RegisteredClient
    private let request: AuthorizationRequest
    private let key: ProofKey?
    private let namesIssuer: Bool
    private let receiver: RedirectReceiver
    private let listener: LoopbackListener
    private let progress = Mutex(Progress())
    private let deliveryTime: Duration

    private struct Progress {
        var isWaitedFor = false

        /// The authorization code, kept after the exchange so that no page repeats the code.
        var code: Secret?
        var isSpent = false

        /// The time of the token response, by the clock of the service if the response contains a date.
        var exchangeDate: Date?
        var isFinished = false
    }

    init(
        _ grants: SignInGrants, _ client: RegisteredClient, _ request: AuthorizationRequest, key: ProofKey?,
        url: String, lifetime: Duration, pageLifetime: Duration? = nil,
        namesIssuer: Bool, receiver: RedirectReceiver, listener: LoopbackListener, deliveryTime: Duration
    ) {
        self.grants = grants
        self.client = client
        self.request = request
        self.key = key
        self.url = url
        self.lifetime = lifetime
        self.pageLifetime = pageLifetime
        self.namesIssuer = namesIssuer
        self.receiver = receiver
        self.listener = listener
        self.deliveryTime = deliveryTime
    }

    deinit { listener.stop() }

    func waitForResponse() async throws {
        let isFirst = progress.withLock { progress in
            defer { progress.isWaitedFor = true }
            return !progress.isWaitedFor
        }
        guard isFirst else { throw AuthorityError.unclear("this sign-in is already in use: begin a new sign-in") }
        // An error means that the task was cancelled.
        let brought = try? await withDeadline(.now + lifetime) { [responses = receiver.responses] in
            await responses.first { _ in true }
        }
        guard let response = brought ?? nil else {
            if Task.isCancelled { throw AuthorityError.noResponse(.cancelled) }
            throw AccountError(
                .signInRefused, "the sign-in was not finished in the browser within \(lifetime.text)",
                hint: "nothing was changed; start again"
                    + (pageLifetime.map { ", and open the page within \($0.text)" } ?? "")
                    + ". If the page showed an error about the redirect address, register \(request.redirectURI) at the service, "
                    + "or name a registered one (on a command line, with --redirect-uri)")
        }
        progress.withLock { $0.code = response.code }
        _ = try response.code(from: grants.connection.issuer, namingIssuer: namesIssuer, hiding: request.secrets)
    }

    func receive(_ pastedURL: String) throws(AccountError) {
        let response = try response(in: pastedURL)
        switch receiver.accept(response, isAwaited: false) {
        case .accepted, .repeated: return
        case .wrongState:
            throw AccountError(
                .invalidArgument, "this URL belongs to another sign-in", hint: "open the URL shown above")
        case .usedBefore: throw AccountError(.invalidArgument, "this sign-in has already received its response")
        }
    }

    private func response(in pastedURL: String) throws(AccountError) -> AuthorizationResponse {
        let text = Self.address(in: pastedURL)
        var parts = text.prefix { $0 != "#" }.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        if parts.count == 1, AuthorizationResponse(query: parts[0])?.state != nil { parts.insert("", at: 0) }
        let place = "it begins with \(request.redirectURI)?"
        guard isRedirectURI(parts.first ?? "") else {
            let what =
                text.contains { ":/?=&".contains($0) }
                ? "this is not the URL that the browser showed after the sign-in"
                : "this is not a URL, but only a part of one: copy the whole URL that the browser showed after the sign-in"
            throw AccountError(.invalidArgument, "\(what): \(place)")
        }
        guard parts.count == 2, parts[1].utf8.count <= RequestLimit.bytes,
            let response = AuthorizationResponse(query: parts[1])
        else {
            throw AccountError(
                .invalidArgument, "the URL is incomplete",
                hint: "copy all of it from the browser's address bar; \(place)"
            )
        }
        return response
    }

    /// Returns the address in a pasted text, without what terminals, messengers and mail programs add: line breaks, characters
    /// without a width, quotation marks, brackets, and `&amp;` in place of `&`. A URL contains none of them unencoded (RFC 3986,
    /// section 2 and appendix C).
    private static func address(in text: String) -> Substring {
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars where scalar.value > 0x20 && !scalar.properties.isWhitespace {
            // Such as U+200B and U+FEFF.
            if scalar.properties.generalCategory != .format { scalars.append(scalar) }
        }
        let marks = "<>\"'`“”‘’«»"
        var address = Substring(String(scalars).replacing("&amp;", with: "&")).drop { marks.contains($0) }
        while let last = address.last, marks.contains(last) { address.removeLast() }
        for prefix in ["view-source:", "URL:"] where address.lowercased().hasPrefix(prefix.lowercased()) {
            address = address.dropFirst(prefix.count)
        }
        return address
    }

    /// Returns whether an address is that of the redirect. The browser may hide its scheme, or the user may have copied only
    /// the query. The `state` in the query binds a response to this sign-in.
    private func isRedirectURI(_ text: Substring) -> Bool {
        if text.isEmpty { return true }
        guard let own = try? ServiceURL(request.redirectURI) else { return false }
        return [String(text), "http://" + text].contains { (try? ServiceURL($0)) == own }
    }

    func credentials() async throws(AuthorityError) -> Credentials {
        let code = progress.withLock { progress -> Secret? in
            guard let code = progress.code, !progress.isSpent else { return nil }
            progress.isSpent = true
            return code
        }
        guard let code else { throw .unclear("this sign-in has no code to exchange: begin a new sign-in") }
        let (credentials, response) = try await grants.requestTokens(request.form(with: code), as: client, key: key)
        progress.withLock { $0.exchangeDate = response.date ?? response.receivedAt }
        return credentials
    }

    func account(with credentials: Credentials) async throws(AuthorityError) -> Account {
        try await grants.users.account(
            with: credentials, signedInAs: nil, nonce: request.nonce,
            at: progress.withLock(\.exchangeDate) ?? credentials.issuedAt)
    }

    func finish(with result: Result<Account, any Error>) async {
        let (isFirst, code) = progress.withLock { progress in
            defer { progress.isFinished = true }
            return (!progress.isFinished, progress.code)
        }
        guard isFirst else { return }
        // After a success, the authority keeps the registration in use: the caller may have to keep it for other machines.
        if case .failure = result { client.use?.end() }
        let secrets = request.secrets + (code.map { [$0] } ?? [])
        let isAwaited =
            switch result {
            case .success(let account): receiver.finish(with: ResultPage(signedIn: account, hiding: secrets))
            case .failure(let error): receiver.finish(with: ResultPage(error, hiding: secrets))
            }
        if isAwaited {
            // An error means that the task was cancelled.
            _ = try? await withDeadline(.now + deliveryTime) { [deliveries = receiver.deliveries] in
                for await _ in deliveries { break }
            }
        }
        await listener.close()
    }
}
