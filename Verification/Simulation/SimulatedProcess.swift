import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One life of a process: a store, whose memory is lost when the process dies.
///
/// @unchecked Sendable: one thread runs all jobs of all tasks, one after the other (`World.runJobs`).
final class SimulatedProcess: @unchecked Sendable {
    let world: World
    let name: String

    /// The number of the machine on which the process runs.
    let machine: Int
    private(set) var store: AccountStore?
    private(set) var isAlive = true

    /// Whether a task of the process follows the changes of other processes.
    let isFollowing: Bool

    /// Whether the process could not read the last change of which it was notified.
    var hasMissedChange = false

    // The judge's record of the memory of the process.
    var heard: [(event: AccountEvent, account: Account?)] = []
    var account: Account?
    var isKnown = false
    var seenVersion = 0
    var unwritten: [(tokens: Tokens, spent: Tokens, lease: ProcessLease?)] = []
    var unsaved: Set<Tokens> = []

    /// The unsaved tokens whose lease was lost.
    var unsavedLate: Set<Tokens> = []

    /// Sign-ins whose newest tokens only this process has, and which are not stored yet.
    var inHand: Set<Int> = []
    var refused: [Tokens: Occurrence] = [:]

    /// The access tokens that an API refused although they had just replaced refused ones.
    var refusedReplacements: Set<String> = []

    /// The stored versions at the start of the loads that have ended since the last check.
    var endedLoads: [Int] = []
    /// The number of changes of this process that were refused because their lock was lost.
    var refusedChangeCount = 0

    /// Whether the process received a signal. The process ends after its exchanges.
    private(set) var isSignalled = false
    private(set) var exchangeCount = 0

    /// Whether the process is suspended, which it cannot detect.
    var isStopped = false

    /// Whether the process cannot reach the store.
    var isCutOff = false

    /// Whether the process lost the lock after a change. In that case, it publishes the change too late.
    var hearsTooLate = false

    var isReached: Bool { !isStopped && !isCutOff }

    private var watchers: [AsyncThrowingStream<Void, any Error>.Continuation] = []

    init(world: World, name: String, machine: Int, isFollowing: Bool) {
        self.world = world
        self.name = name
        self.machine = machine
        self.isFollowing = isFollowing
        store = AccountStore(
            storage: ProcessStorage(process: self), appIdentifier: "simulation", keys: [SimulatedKey()],
            clock: ProcessClock(world: world)
        )
        .leavingRevocations()
        seenVersion = world.judge.versions.count - 1
        store?.observeExchanges(self)
    }

    func signal() { isSignalled = true }

    func start() {
        let (store, mistake) = (store!, world.mistake)
        let events = store.accountEvents()
        Task.detached { [self] in
            var count = 0
            for await event in events {
                count += 1
                if mistake == .losesEvents, count % 5 == 0 { continue }
                heard.append(event)
            }
        }
        if isFollowing { Task.detached { try? await store.observeExternalChanges() } }
    }

    func die() {
        isAlive = false
        stop()
    }

    /// Releases the store, so that its listeners end.
    func stop() {
        for watcher in watchers { watcher.finish() }
        watchers = []
        store = nil
    }

    func changeHappened() {
        for watcher in watchers { watcher.yield() }
    }

    fileprivate func changes() -> AsyncThrowingStream<Void, any Error> {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: Void.self, throwing: (any Error).self, bufferingPolicy: .bufferingNewest(1))
        if isAlive { watchers.append(continuation) } else { continuation.finish() }
        return stream
    }

    /// Makes a call, and waits for the result.
    ///
    /// - Parameter mayBeSent: Decides whether a token may be sent, at the moment when it is about to leave the process.
    func call(
        _ call: Call, in transaction: ProcessTransaction? = nil, _ lease: ProcessLease? = nil,
        if mayBeSent: (@Sendable () -> Bool)? = nil
    ) async throws -> Answer {
        guard isAlive else { throw Died() }
        world.judge.asked(call)
        if call.redeemed != nil { Operation.current?.lease?.phase = .beforeFirstByte }
        let number = world.nextTurn()
        // Requests are late half as often as responses.
        let dueStep = call.isRequest && world.happens(0.5) ? world.dueStep() : 0
        let answer = await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                let turn = Turn(
                    number: number, process: self, transaction: transaction, lease: lease, call: call, if: mayBeSent,
                    continuation: continuation)
                turn.dueStep = dueStep
                world.turns.append(turn)
            }
        } onCancel: {
            world.cancelledTurns.insert(number)
        }
        return try answer.get()
    }
}

/// Delays signals, as the command does.
extension SimulatedProcess: ExchangeObserver {
    func exchangeBegan(limit: Duration) { exchangeCount += 1 }
    func exchangeEnded() { exchangeCount -= 1 }
    var isInterrupted: Bool { isSignalled }
}

struct SimulatedKey: KeyProvider {
    private static let key = Result { try ArchiveKey(bytes: [UInt8](repeating: 7, count: 32)) }

    var kind: KeyKind { .keyFile }
    func key() async throws -> ArchiveKey? { try Self.key.get() }
    func makeKey() async throws -> ArchiveKey { try Self.key.get() }
}

private struct ProcessClock: WallClock {
    let world: World
    var now: Date { world.date }
}

/// The storage from the point of view of one process.
private struct ProcessStorage: ArchiveStorage {
    let process: SimulatedProcess

    func read(_ entry: ArchiveEntry) async throws -> StoredEntry? {
        // Skip the turn: AccountKit reads all eight entries of the queue, which are nearly always empty.
        if entry.isRevocation, process.isAlive, process.world.entries[entry] == nil { return nil }
        guard case .entry(let stored) = try await process.call(.read(entry)) else { preconditionFailure() }
        return stored
    }

    func beginTransaction(timeout: Duration) async throws -> any ArchiveTransaction {
        let transaction = ProcessTransaction(process: process)
        _ = try await process.call(.begin, in: transaction)
        return transaction
    }

    func acquireRefreshLease(timeout: Duration) async throws -> any ArchiveLease {
        let lease = ProcessLease(process: process)
        _ = try await process.call(.lease(isPatient: timeout > .zero), in: nil, lease)
        Operation.current?.lease = lease
        return lease
    }

    func changes(of entry: ArchiveEntry) -> AsyncThrowingStream<Void, any Error> { process.changes() }
}

/// @unchecked Sendable: as for its process.
final class ProcessLease: ArchiveLease, @unchecked Sendable {
    let process: SimulatedProcess

    /// The number of failed reads and writes of the account since new tokens arrived. A lock that could not be acquired counts twice.
    var failureCount = 0

    /// The time when the store last heard from the holder.
    var lastKeepAlive = 0.0

    /// The progress of the refresh.
    var phase = RefreshPhase.beforeIntent
    var isLost = false
    var hasEnded = false

    init(process: SimulatedProcess) { self.process = process }

    func beginTransaction(timeout: Duration) async throws -> any ArchiveTransaction {
        let transaction = ProcessTransaction(process: process, lease: self)
        _ = try await process.call(.begin, in: transaction, self)
        return transaction
    }

    func permit(for duration: Duration) async -> (@Sendable () -> Bool)? {
        guard process.world.lasts(self, duration) else { return nil }
        return { [self] in process.world.isHeld(self, duration) }
    }

    func renewed(timeout: Duration) async throws -> any ArchiveLease {
        if process.world.lasts(self, .zero) { return self }
        await end()
        return try await ProcessStorage(process: process).acquireRefreshLease(timeout: timeout)
    }

    func end() async {
        guard process.isAlive else { return }
        process.world.end(self)
    }
}

/// @unchecked Sendable: as for its process.
final class ProcessTransaction: ArchiveTransaction, @unchecked Sendable {
    let process: SimulatedProcess
    let operation: Operation?
    let lease: ProcessLease?

    /// The time when the store last heard from the holder.
    var lastKeepAlive = 0.0

    /// The number of changes under its lock.
    var lockRevision = 0
    var isLost = false
    var hasEnded = false

    /// Whether the store refused a change because the lock or the lease was lost.
    var isRefused = false

    init(process: SimulatedProcess, lease: ProcessLease? = nil) {
        self.process = process
        self.lease = lease
        operation = Operation.current
    }

    /// This read takes no turn, because no other process can detect it.
    func read(_ entry: ArchiveEntry) async throws -> StoredEntry? {
        guard process.isAlive else { throw Died() }
        return try process.world.read(entry, in: self)
    }

    func reserve(_ entry: ArchiveEntry, byteCount: Int) async throws {
        _ = try await process.call(.reserve(entry), in: self)
    }

    func replace(
        _ entry: ArchiveEntry, with bytes: [UInt8], ifRevision revision: ArchiveRevision?
    ) async throws -> ArchiveReceipt {
        let answer = try await process.call(.replace(entry, bytes, revision), in: self)
        guard case .receipt(let receipt) = answer else { preconditionFailure() }
        return receipt
    }

    func remove(_ entry: ArchiveEntry, ifRevision revision: ArchiveRevision) async throws -> ArchiveReceipt.Durability {
        guard case .receipt(let receipt) = try await process.call(.remove(entry, revision), in: self) else {
            preconditionFailure()
        }
        return receipt.durability
    }

    func quarantine(_ entry: ArchiveEntry, label: String) async throws -> String {
        guard case .place(let place) = try await process.call(.quarantine(entry, label), in: self) else {
            preconditionFailure()
        }
        return place
    }

    func restore(_ entry: ArchiveEntry, from place: String) async throws {
        _ = try await process.call(.restore(entry, place), in: self)
    }

    func end() async {
        guard process.isAlive else { return }
        process.world.end(self)
    }
}

/// The service from the point of view of one process.
struct ProcessAuthority: PasswordAuthority, DeviceAuthority, ServiceAuthority {
    let process: SimulatedProcess

    var supportsPerGrantRevocation: Bool { process.world.weather.supportsPerGrantRevocation }
    var issuer: String? { Service.issuer }

    func verify(_ account: Account) async throws -> Identity {
        guard case .identity(let identity) = try await process.call(.verify(account)) else { preconditionFailure() }
        return identity
    }

    func prepare(_ request: TokenRequest, of account: Account) async throws -> any PreparedExchange {
        do {
            _ = try await process.call(.connect(account))
        } catch let failure as AuthorityError {
            throw AuthorityError.notSent(failure)
        }
        return ProcessExchange(authority: self, request: request, account: account)
    }

    func refresh(_ account: Account) async throws -> Credentials { try await refresh(account) { true } }

    fileprivate func refresh(_ account: Account, if mayBeSent: @escaping @Sendable () -> Bool) async throws
        -> Credentials
    {
        do {
            let answer = try await process.call(.refresh(account), if: mayBeSent)
            guard case .credentials(var new) = answer else { preconditionFailure() }
            if process.world.mistake == .cutsExchangesOff, Operation.current?.isCancelled ?? false {
                throw AuthorityError.noResponse(.cancelled)
            }
            if process.world.mistake == .judgesBeforeStoring {
                if new.isOfOtherUser { throw AuthorityError.otherUser(id: "somebody else") }
                if new.lacksAccessToken || account.credentials.hasWrongType(in: new) {
                    throw AuthorityError.unclear("an odd response")
                }
            }
            if process.world.mistake == .hidesOddities {
                (new.isOfOtherUser, new.isOfUnsupportedType) = (false, false)
                if account.credentials.proofKey != nil { new.tokenType = Credentials.boundType }
            }
            return new
        } catch let failure as AuthorityError {
            switch process.world.mistake {
            case .callsTroubleDefinite: throw AuthorityError.oauthError("invalid_grant")
            case .callsUnknownClientDefinite:
                guard case .oauthError("invalid_client", _) = failure else { throw failure }
                throw AuthorityError.oauthError("invalid_grant")
            case .hidesRefusals where Service.refusals.contains(failure):
                throw AuthorityError.unavailable(status: 503, retryAfter: nil)
            case .sendsAgain:
                guard case .credentials(let new) = try await process.call(.refresh(account)) else { throw failure }
                return new
            default: throw failure
            }
        }
    }

    /// Sends a request to an API. Returns the failure, or `nil` if the API accepted the token.
    func callAPI(_ account: Account) async -> AuthorityError? {
        do {
            // A cancelled task sends no request. The exchange for which it waited goes on, and may hold the lock.
            try Task.checkCancellation()
            _ = try await process.call(.callAPI(account))
            return nil
        } catch {
            return AuthorityError(error)
        }
    }

    func tokenDerivation(for target: TokenTarget, of account: Account) async throws -> TokenDerivation {
        account.credentials.refreshToken == nil ? .tokenExchange : .refresh
    }

    func exchangeToken(
        for target: TokenTarget, of account: Account, by derivation: TokenDerivation
    ) async throws -> Credentials {
        try await derive(account, derivation) { true }
    }

    fileprivate func derive(
        _ account: Account, _ derivation: TokenDerivation, if mayBeSent: @escaping @Sendable () -> Bool
    ) async throws -> Credentials {
        let answer = try await process.call(.derive(account, derivation), if: mayBeSent)
        guard case .credentials(let new) = answer else { preconditionFailure() }
        return new
    }

    func revoke(_ account: Account) async throws -> RevocationOutcome {
        if process.world.mistake == .keepsLateTokens, Operation.current?.kind.isRefreshing ?? false { return .done }
        guard case .revocation(let outcome) = try await process.call(.revoke(account)) else { preconditionFailure() }
        return outcome
    }

    func isAuthority(of account: Account) -> Bool { true }

    func signIn(username: String, password: Secret) async throws -> Account {
        let client = Operation.current?.client ?? ""
        guard case .account(var account) = try await process.call(.signIn(username, client: client)) else {
            preconditionFailure()
        }
        if process.world.mistake == .losesKey { account.credentials.proofKey = nil }
        return account
    }

    func beginDeviceSignIn() async throws -> DeviceAuthorization {
        _ = try await process.call(.beginDevice)
        return DeviceAuthorization(
            deviceCode: Secret("d"), userCode: "U", verificationURI: "https://auth.example.com/device",
            lifetime: .seconds(40))
    }

    func pollDeviceSignIn(_ authorization: DeviceAuthorization) async throws -> Credentials {
        let (user, client) = (Operation.current?.user ?? "", Operation.current?.client ?? "")
        guard case .credentials(let new) = try await process.call(.poll(user, client: client)) else {
            preconditionFailure()
        }
        return new
    }

    func account(with credentials: Credentials) async throws -> Account {
        guard case .account(let account) = try await process.call(.identify(credentials)) else {
            preconditionFailure()
        }
        return account
    }

    func updateProfile(of account: Account) async throws -> Identity {
        guard case .identity(let identity) = try await process.call(.updateProfile(account)) else {
            preconditionFailure()
        }
        return identity
    }
}

/// A request that has a connection.
private struct ProcessExchange: PreparedExchange {
    let authority: ProcessAuthority
    let request: TokenRequest
    let account: Account

    func send(if mayBeSent: @escaping @Sendable () -> Bool) async throws -> Credentials {
        switch request {
        case .refresh: try await authority.refresh(account, if: mayBeSent)
        case .derivation(_, let derivation): try await authority.derive(account, derivation, if: mayBeSent)
        }
    }

    func abandon() {}
}

/// The clock of one sign-in, which moves only while the sign-in waits.
///
/// @unchecked Sendable: as for its process.
final class WaitingClock: Clock, @unchecked Sendable {
    struct Instant: InstantProtocol {
        var offset: Duration
        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (one: Instant, other: Instant) -> Bool { one.offset < other.offset }
    }

    private let process: SimulatedProcess
    private(set) var now = Instant(offset: .zero)
    var minimumResolution: Duration { .zero }

    init(process: SimulatedProcess) { self.process = process }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        // Do this even for a process that has died: otherwise its sign-in would never end.
        defer { now = max(now, deadline) }
        _ = try await process.call(.sleep)
    }
}
