import AccountKit

/// A call of an app to its store, in a separate task.
///
/// @unchecked Sendable: as for its process.
final class Operation: @unchecked Sendable {
    @TaskLocal static var current: Operation?

    enum Kind: CaseIterable {
        case check, checkIfOld, accessToken, derivedToken, callAPI, refresh, update, updateProfile, signIn,
            signInByDevice
        case signOut, signOutLocally, load, deliverRevocations, unfinishedRefresh, finishPendingRequests

        /// The relative frequency.
        var weight: Int {
            switch self {
            case .check: 20
            case .checkIfOld: 4
            case .accessToken: 14
            case .derivedToken: 12
            case .callAPI: 14
            case .refresh: 32
            case .update: 9
            case .updateProfile: 4
            case .signIn: 6
            case .signInByDevice: 3
            case .signOut: 5
            case .signOutLocally: 2
            case .load: 6
            case .deliverRevocations: 5
            case .unfinishedRefresh: 2
            case .finishPendingRequests: 2
            }
        }

        var isSignIn: Bool { [.signIn, .signInByDevice].contains(self) }
        var isSignOut: Bool { [.signOut, .signOutLocally].contains(self) }
        var isRefreshing: Bool {
            [.check, .checkIfOld, .accessToken, .derivedToken, .callAPI, .refresh, .updateProfile].contains(self)
        }
    }

    /// The result of an operation.
    enum Outcome {
        case state(SessionState)
        case account(Account)
        case accessToken(String)
        case derivedToken(String)
        case signedOut(SignOutReport)
        case done
        case failed(AccountError)

        var text: String {
            switch self {
            case .state(.verified(let account)): "\(account.token) is confirmed"
            case .state(.unverified(let account, let reason)): "\(account.token) is kept (\(reason.code.rawValue))"
            case .state(.signedOut(let signOut)): "signed out (\(signOut.reason.rawValue))"
            case .state(.unreadable(let error)): "unreadable (\(error.code))"
            case .account(let account): account.token
            case .accessToken(let token), .derivedToken(let token): token
            case .signedOut(let report): "signed out \(report.account?.token ?? "nobody")"
            case .done: "done"
            case .failed(let error): "failed (\(error.code))"
            }
        }
    }

    let number: Int
    let kind: Kind
    let user: String
    let client: String
    let ignoresPauses: Bool
    let process: SimulatedProcess

    /// The stored version when the operation began, or an older version that the operation read from a replica.
    var firstVersion: Int

    /// The last turn before the operation began.
    let firstTurn: Int

    /// The lease of the last refresh.
    var lease: ProcessLease?

    private(set) var task: Task<Void, Never>?
    var isCancelled = false
    var outcome: Outcome?

    /// The stored tokens that the operation has read.
    var read: Set<Tokens> = []

    /// Whether the operation has requested the lease of a refresh. From then on, newer stored tokens come from another
    /// process.
    var isLeasing = false

    /// The tokens that a sign-in received from the service.
    var obtained: Tokens?

    /// Sign-ins that the operation must revoke or queue.
    var responsible: Set<Int> = []

    /// Whether the response to the last request was that the service does not renew the session.
    var isNotRenewed = false

    /// The number of open transactions.
    var transactionCount = 0

    /// The number of requests.
    var requestCount = 0

    /// The stored version at the operation's last read under the lock.
    var lockedVersion: Int

    /// Whether the operation was cancelled before it knew the user of the tokens that it received.
    var mustNotStore = false
    var hasStored = false

    init(number: Int, kind: Kind, user: String, client: String, ignoresPauses: Bool, process: SimulatedProcess) {
        self.number = number
        self.kind = kind
        self.user = user
        self.client = client
        self.ignoresPauses = ignoresPauses
        self.process = process
        firstVersion = process.world.judge.versions.count - 1
        lockedVersion = firstVersion
        firstTurn = process.world.lastTurn
    }

    func start() {
        guard let store = process.store else { return }
        task = Task.detached { [self] in
            await Operation.$current.withValue(self) {
                let outcome = await run(store, ProcessAuthority(process: process))
                guard process.isAlive else { return }
                self.outcome = outcome
                process.world.ended(self, outcome)
            }
        }
    }

    func cancel() {
        isCancelled = true
        task?.cancel()
    }

    private func run(_ store: AccountStore, _ authority: ProcessAuthority) async -> Outcome {
        do throws(AccountError) {
            switch kind {
            // Use no timeout, since no clock would measure it. A cancelled caller represents a caller whose timeout has
            // passed.
            case .check: return .state(await store.checkSession(with: authority, timeout: nil))
            case .checkIfOld:
                return .state(await store.checkSession(with: authority, maximumAge: .seconds(900), timeout: nil))
            case .accessToken: return .accessToken(try await store.accessToken(timeout: nil, with: authority).reveal())
            case .derivedToken:
                // Use only two targets, so that operations can share a token.
                let target = try TokenTarget(resources: ["urn:\(number % 2)"])
                let token = try await store.accessToken(for: target, timeout: nil, with: authority)
                return .derivedToken(token.reveal())
            case .callAPI: return try await callAPI(store, authority)
            case .refresh: return .account(try await store.refresh(with: authority, timeout: nil))
            case .update: return .account(try await store.update { $0.addPoint() })
            case .updateProfile:
                return .account(try await store.sendProfile(to: authority) { $0.nickname = "nickname \(number)" })
            case .signIn:
                return .account(try await store.signIn(username: user, password: Secret("p"), with: authority))
            case .signInByDevice:
                return .account(
                    try await store.signIn(with: authority, clock: WaitingClock(process: process)) { _ in })
            case .signOut: return .signedOut(try await store.signOut(with: authority))
            case .signOutLocally: return .signedOut(try await store.signOut())
            case .load: return .state(await store.load())
            case .deliverRevocations:
                _ = await store.deliverRevocations(with: { _ in authority }, ignoringPauses: ignoresPauses)
                return .done
            case .finishPendingRequests:
                await store.finishPendingRequests()
                return .done
            case .unfinishedRefresh:
                _ = try? await store.unfinishedRefresh()
                return .done
            }
        } catch {
            return .failed(error)
        }
    }

    /// Sends a request to an API as `AuthenticatedClient` does: after a 401 of any form, once more with another token.
    private func callAPI(_ store: AccountStore, _ authority: ProcessAuthority) async throws(AccountError) -> Outcome {
        let refused = Outcome.failed(AccountError(.requestRefused, "simulated"))
        let account = try await store.usableAccount(minimumValidity: nil, timeout: nil, with: authority)
        guard let failure = await authority.callAPI(account) else { return .accessToken(account.token) }
        let context = SessionDecision.Context(holdsRefreshToken: account.credentials.isRenewable)
        switch SessionDecision.afterCall(failure, context) {
        case .keep: return refused
        case .askService: return .state(await store.checkSession(with: authority, timeout: nil))
        case .refreshOnce: break
        }
        var replacement: Account?
        if process.world.mistake != .ignoresRefusals {
            replacement = try await store.account(insteadOf: account, timeout: nil, with: authority)
        }
        guard let replacement else {
            process.world.judge.gotNoReplacement(for: account, process)
            return refused
        }
        let next = await authority.callAPI(replacement)
        if process.isAlive { process.world.coverage.count(next == nil ? .refusalReplaced : .replacementRefused) }
        guard let next else { return .accessToken(replacement.token) }
        if SessionDecision.afterCall(next, context) == .refreshOnce, process.isAlive {
            process.refusedReplacements.insert(replacement.token)
            store.noteRefusedReplacement(replacement)
        }
        return refused
    }
}

extension Account {
    fileprivate mutating func addPoint() {
        if case .integer(let points)? = profile["points"] {
            profile["points"] = .integer(points + 1)
        } else {
            profile["points"] = 1
        }
    }
}
