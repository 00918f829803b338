import AccountKit
import AccountTesting
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A service whose responses a test provides at each step of a sign-in or refresh. Records the requests.
final class SteppedAuthority: PasswordAuthority, DeviceAuthority, BrowserAuthority {
    typealias Tokens = @Sendable () async throws -> Credentials

    let supportsPerGrantRevocation: Bool
    let issuer: String? = "https://auth.example.com"

    private let state = Mutex(State())
    private let tokens: Tokens
    private let user: @Sendable () async throws -> String
    private let revocation: @Sendable () async throws -> RevocationOutcome

    private struct State {
        var requests: [String] = []
        var revoked: [String] = []
    }

    /// - Parameters:
    ///   - supportsPerGrantRevocation: Whether a revocation ends only its own grant.
    ///   - tokens: The response to a request for tokens, whatever is exchanged for them.
    ///   - user: The response to the request for the user.
    ///   - revocation: The response to a revocation.
    init(
        supportsPerGrantRevocation: Bool = false, tokens: @escaping Tokens = { Fixture.newTokens },
        user: @escaping @Sendable () async throws -> String = { "carol" },
        revocation: @escaping @Sendable () async throws -> RevocationOutcome = { .done }
    ) {
        self.supportsPerGrantRevocation = supportsPerGrantRevocation
        self.tokens = tokens
        self.user = user
        self.revocation = revocation
    }

    /// The requests: `tokens`, `user`, `verify`, `revoke` and the events of a browser.
    var requests: [String] { state.withLock { $0.requests } }

    /// The access tokens of the revocation requests.
    var revoked: [String] { state.withLock { $0.revoked } }

    fileprivate func note(_ request: String) { state.withLock { $0.requests.append(request) } }

    fileprivate func exchange() async throws -> Credentials {
        note("tokens")
        return try await tokens()
    }

    func account(with credentials: Credentials) async throws -> Account {
        note("user")
        return Account(
            id: try await user(), issuer: issuer, username: "carol", credentials: credentials,
            verifiedAt: Fixture.now)
    }

    func verify(_ account: Account) async throws -> Identity {
        note("verify")
        return Identity(id: account.id)
    }

    func refresh(_ account: Account) async throws -> Credentials { try await exchange() }

    func revoke(_ account: Account) async throws -> RevocationOutcome {
        state.withLock { state in
            state.requests.append("revoke")
            state.revoked.append(account.credentials.accessToken.reveal())
        }
        return try await revocation()
    }

    func signIn(username: String, password: Secret) async throws -> Account {
        Account(
            id: username, issuer: issuer, username: username, credentials: try await exchange(),
            verifiedAt: Fixture.now)
    }

    func beginDeviceSignIn() async throws -> DeviceAuthorization {
        DeviceAuthorization(
            deviceCode: Secret("device"), userCode: "WDJB-MJHT", verificationURI: "https://example.com/device",
            lifetime: .seconds(600), interval: .seconds(5))
    }

    func pollDeviceSignIn(_ authorization: DeviceAuthorization) async throws -> Credentials { try await exchange() }

    func beginBrowserSignIn() async throws -> any BrowserSignIn { SteppedBrowserSignIn(authority: self) }
}

private struct SteppedBrowserSignIn: BrowserSignIn {
    let authority: SteppedAuthority
    let url = "https://auth.example.com/authorize"
    let lifetime = Duration.seconds(300)

    func waitForResponse() async throws { authority.note("response") }

    func credentials() async throws -> Credentials { try await authority.exchange() }

    func account(with credentials: Credentials) async throws -> Account {
        try await authority.account(with: credentials)
    }

    func finish(with result: Result<Account, any Error>) async {
        if case .success = result { authority.note("page: done") } else { authority.note("page: failed") }
    }

    func receive(_ pastedURL: String) throws(AccountError) {}
}

/// Responses from a service, one after the other. The last one repeats.
final class Answers<Value: Sendable>: Sendable {
    private let answers: Mutex<[Result<Value, AuthorityError>]>

    init(_ answers: Result<Value, AuthorityError>...) { self.answers = Mutex(answers) }

    func next() throws -> Value {
        try answers.withLock { answers in answers.count > 1 ? answers.removeFirst() : answers[0] }.get()
    }
}

/// Counts the exchanges.
final class ExchangeRecorder: ExchangeObserver {
    private struct State {
        var isInterrupted = false
        var beginCount = 0
        var openCount = 0
        var wasNegative = false
    }

    private let state = Mutex(State())

    var isInterrupted: Bool { state.withLock { $0.isInterrupted } }

    /// The number of exchanges that have begun, and the number of exchanges in progress.
    var counts: [Int] { state.withLock { [$0.beginCount, $0.wasNegative ? -1 : $0.openCount] } }

    func interrupt() { state.withLock { $0.isInterrupted = true } }

    func exchangeBegan(limit: Duration) {
        state.withLock { state in
            state.beginCount += 1
            state.openCount += 1
        }
    }

    func exchangeEnded() {
        state.withLock { state in
            state.openCount -= 1
            if state.openCount < 0 { state.wasNegative = true }
        }
    }
}
