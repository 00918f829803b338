import AccountKit

/// Something that an app has its store do, in a task of its own.
///
/// @unchecked Sendable: as for its process.
final class Operation: @unchecked Sendable {
    @TaskLocal static var current: Operation?

    enum Kind: CaseIterable {
        case check, checkIfOld, accessToken, refresh, update, updateProfile, signIn, signOut, signOutLocally, load
        case deliverRevocations, unfinishedRefresh

        /// How often it is chosen.
        var weight: Int {
            switch self {
            case .check: 20
            case .checkIfOld: 4
            case .accessToken: 14
            case .refresh: 24
            case .update: 9
            case .updateProfile: 4
            case .signIn: 6
            case .signOut: 5
            case .signOutLocally: 2
            case .load: 6
            case .deliverRevocations: 5
            case .unfinishedRefresh: 2
            }
        }
    }

    /// How it ended.
    enum Outcome {
        case state(SessionState)
        case account(Account)
        case accessToken(String)
        case signedOut(SignOutReport)
        case done
        case failed(AccountError)

        var text: String {
            switch self {
            case .state(.verified(let account)): "\(account.token) is confirmed"
            case .state(.unverified(let account, let reason)): "\(account.token) is kept (\(reason.code.rawValue))"
            case .state(.signedOut(let signOut)): "nobody is signed in (\(signOut.reason.rawValue))"
            case .state(.unreadable(let error)): "unreadable (\(error.code))"
            case .account(let account): account.token
            case .accessToken(let token): token
            case .signedOut(let report): "signed out \(report.account?.token ?? "nobody")"
            case .done: "done"
            case .failed(let error): "failed (\(error.code))"
            }
        }
    }

    let number: Int
    let kind: Kind
    let user: String
    let process: SimulatedProcess

    /// The version that was stored when it began.
    let firstVersion: Int

    private(set) var task: Task<Void, Never>?
    var isCancelled = false
    var outcome: Outcome?

    /// Tokens that it has found stored.
    var read: Set<Tokens> = []

    /// What a sign-in got from the service.
    var obtained: Tokens?

    /// Whether it had no place in the queue of revocations, since the disk failed, and said so.
    var hasLostRevocation = false

    init(number: Int, kind: Kind, user: String, process: SimulatedProcess) {
        self.number = number
        self.kind = kind
        self.user = user
        self.process = process
        firstVersion = process.world.judge.versions.count - 1
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
            case .check: return .state(await store.checkSession(with: authority))
            case .checkIfOld:
                return .state(await store.checkSession(with: authority, policy: CheckPolicy(maximumAge: 900)))
            case .accessToken: return .accessToken(try await store.accessToken(with: authority).reveal())
            case .refresh: return .account(try await store.refresh(with: authority))
            case .update: return .account(try await store.update { $0.addPoint() })
            case .updateProfile:
                return .account(try await store.updateProfile(with: authority) { $0.nickname = "nickname \(number)" })
            case .signIn:
                return .account(try await store.signIn(username: user, password: Secret("p"), with: authority))
            case .signOut:
                let report = try await store.signOut(with: authority)
                // None of its places could be looked at.
                if case .lost = report.revocation, process.world.judge.hasMissedRevocation { hasLostRevocation = true }
                return .signedOut(report)
            case .signOutLocally: return .signedOut(try await store.signOut())
            case .load: return .state(await store.load())
            case .deliverRevocations:
                _ = await store.deliverRevocations { _ in authority }
                return .done
            case .unfinishedRefresh:
                _ = try? await store.unfinishedRefresh()
                return .done
            }
        } catch {
            return .failed(error)
        }
    }
}

extension Account {
    fileprivate mutating func addPoint() { profile.points = (profile.points ?? 0) + 1 }
}
