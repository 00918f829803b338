import AccountKit
import AccountTesting
import Synchronization

/// The storage of a machine, a storage that machines share, and a strict service, for moving a session. Each store acts
/// as a separate process.
struct TwoPlaces: Sendable {
    enum Place: String, Sendable { case here, there }

    let here = InMemoryArchiveStorage()
    let there = InMemoryArchiveStorage(sharedPlace: "cluster")
    let clock = ManualClock()
    let service: ModelService

    init() { service = ModelService(clock: clock, isStrict: true) }

    func storage(_ place: Place) -> InMemoryArchiveStorage { place == .here ? here : there }

    /// A store on the storage of a place, or on a storage that wraps it.
    func store(
        _ place: Place, on storage: (any ArchiveStorage)? = nil, key: any KeySource = InMemoryKey(),
        lockTimeout: Duration = .seconds(30)
    ) -> AccountStore {
        AccountStore(
            storage: storage ?? self.storage(place), appIdentifier: "testing", keySources: [key],
            clock: clock, lockTimeout: lockTimeout)
    }

    func signIn(_ place: Place = .here, as username: String = "alice") async throws {
        try await store(place).signIn(username: username, password: Secret("password"), with: service)
    }

    @discardableResult
    func move(_ source: Place = .here, to target: Place = .there) async throws(AccountError) -> Account {
        try await store(source).moveSession(to: store(target), named: target.rawValue, from: source.rawValue)
    }

    /// Refreshes the session at a place, and returns whether that succeeded.
    func refreshes(_ place: Place) async throws -> Bool {
        do {
            try await store(place).refresh(with: service)
            return true
        } catch {
            guard [.moved, .notSignedIn].contains(error.code) else { throw error }
            return false
        }
    }

    /// The places with a usable refresh token.
    func live() async -> [Place] {
        var places: [Place] = []
        for place in [Place.here, .there]
        where await store(place).load().account?.credentials.refreshToken != nil {
            places.append(place)
        }
        return places
    }
}

/// The number of storage calls that a process may make before it dies.
final class Life: Sendable {
    private let rest: Mutex<Int>

    init(calls: Int) { rest = Mutex(calls) }

    /// Whether the process has died.
    var isOver: Bool { rest.withLock { $0 < 0 } }

    fileprivate func spend() throws {
        let isOver = rest.withLock { rest in
            rest -= 1
            return rest < 0
        }
        if isOver { throw AccountError(.inaccessible, "the process is dead") }
    }
}

/// A storage for a process that dies. Its locks are released then.
struct MortalStorage: ArchiveStorage {
    let base: any ArchiveStorage
    let life: Life

    var sharedPlace: String? { base.sharedPlace }

    func read(_ entry: ArchiveEntry) async throws -> StoredEntry? {
        try life.spend()
        return try await base.read(entry)
    }

    func beginTransaction(timeout: Duration) async throws -> any ArchiveTransaction {
        try life.spend()
        return Transaction(base: try await base.beginTransaction(timeout: timeout), life: life)
    }

    func acquireRefreshLease(timeout: Duration) async throws -> any ArchiveLease {
        try life.spend()
        return Lease(base: try await base.acquireRefreshLease(timeout: timeout), life: life)
    }

    func changes(of entry: ArchiveEntry) -> AsyncThrowingStream<Void, any Error> { base.changes(of: entry) }

    private struct Lease: ArchiveLease {
        let base: any ArchiveLease
        let life: Life

        func beginTransaction(timeout: Duration) async throws -> any ArchiveTransaction {
            try life.spend()
            return Transaction(base: try await base.beginTransaction(timeout: timeout), life: life)
        }

        func end() async { await base.end() }
    }

    private struct Transaction: ArchiveTransaction {
        let base: any ArchiveTransaction
        let life: Life

        func read(_ entry: ArchiveEntry) async throws -> StoredEntry? {
            try life.spend()
            return try await base.read(entry)
        }

        func reserve(_ entry: ArchiveEntry, byteCount: Int) async throws {
            try life.spend()
            try await base.reserve(entry, byteCount: byteCount)
        }

        func replace(
            _ entry: ArchiveEntry, with bytes: [UInt8], ifRevision revision: ArchiveRevision?
        ) async throws -> ArchiveReceipt {
            try life.spend()
            return try await base.replace(entry, with: bytes, ifRevision: revision)
        }

        func remove(
            _ entry: ArchiveEntry, ifRevision revision: ArchiveRevision
        ) async throws -> ArchiveReceipt.Durability {
            try life.spend()
            return try await base.remove(entry, ifRevision: revision)
        }

        func quarantine(_ entry: ArchiveEntry, label: String) async throws -> String {
            try life.spend()
            return try await base.quarantine(entry, label: label)
        }

        func restore(_ entry: ArchiveEntry, from place: String) async throws {
            try life.spend()
            try await base.restore(entry, from: place)
        }

        func end() async { await base.end() }
    }
}
