import AccountKit
import CSimulation

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Everything that processes share: disk, service, network, clock. All random numbers come from one generator.
///
/// @unchecked Sendable: as for `SimulatedProcess`.
final class World: @unchecked Sendable {
    let mistake: Mistake?
    let weather: Weather
    var random: SeededGenerator
    var date = Date(timeIntervalSince1970: 1_893_499_200)

    /// Whether no more faults occur: the schedule is at its end, and all operations must finish.
    var isCalm = false

    var entries: [ArchiveEntry: StoredEntry] = [:]
    private var oldEntries: [ArchiveEntry: StoredEntry] = [:]
    private var lastRevision: UInt64 = 0
    var lockHolder: ProcessTransaction?
    var leaseHolder: ProcessLease?

    /// The number of the step. Some results take several steps.
    var step = 0

    var service: Service
    var processes: [SimulatedProcess] = []
    var turns: [Turn] = []
    var cancelledTurns: Set<Int> = []
    private(set) var lastTurn = 0

    /// Requests that have not arrived yet, and whose sender has given up.
    var lateRequests: [Call] = []

    // MARK: A store like etcd

    /// The seconds since the start, by a clock that is never set.
    var elapsed = 0.0

    /// Commits of senders that have died, and commits that arrive a second time.
    var lateCommits: [Turn] = []

    /// The replica of each machine, for times when the store is unreachable.
    var replicas: [Int: Replica] = [:]

    let judge: Judge
    var coverage = Coverage()

    /// The steps in words; `nil` if they are not recorded.
    var trace: [String]?

    init(seed: UInt64, mistake: Mistake?, isTraced: Bool) {
        self.mistake = mistake
        random = SeededGenerator(seed: seed)
        weather = Weather(mistake, using: &random)
        service = Service(
            policy: weather.policy, revoking: weather.revoking, knowsSpent: weather.knowsSpent,
            lifetime: weather.lifetime, bindsTokens: weather.bindsTokens)
        trace = isTraced ? [] : nil
        judge = Judge()
        judge.world = self
    }

    func note(_ text: @autoclosure () -> String) {
        if trace != nil { trace?.append(text()) }
    }

    func nextTurn() -> Int {
        lastTurn += 1
        return lastTurn
    }

    func happens(_ probability: Double) -> Bool {
        probability > 0 && Double.random(in: 0..<1, using: &random) < probability
    }

    /// Runs all tasks in a random order until each waits for its turn.
    func runJobs() {
        while true {
            switch simulation_job_count() {
            case 0: return
            case 1: simulation_run_job(0)
            case let count: simulation_run_job(Int.random(in: 0..<count, using: &random))
            }
        }
    }

    func ended(_ operation: Operation, _ outcome: Operation.Outcome) {
        note("\(operation.process.name): \(operation.kind) \(operation.number) ended: \(outcome.text)")
        judge.ended(operation, outcome)
    }

    // MARK: The disk

    func failure() -> AccountError? {
        guard !isCalm, happens(weather.diskFaults) else { return nil }
        coverage.count(.diskFault)
        return AccountError(.inaccessible, "no space left on device")
    }

    func read(_ entry: ArchiveEntry, in transaction: ProcessTransaction) throws -> StoredEntry? {
        if let error = unreachable(transaction.process) ?? failure() {
            if entry == .account { transaction.lease?.failureCount += 2 }
            if entry.isRevocation { judge.hasMissedRevocation = true }
            judge.hindered(transaction.operation)
            note("\(transaction.process.name): cannot read \(entry.rawValue)")
            throw error
        }
        if entry == .account {
            judge.looked(transaction)
            if weather.isFenced, mistake != .replicaMissesLockedReads { noteReplica(transaction.process) }
        }
        return entries[entry]
    }

    /// Reads without the lock.
    func readUnlocked(_ entry: ArchiveEntry) -> StoredEntry? {
        mistake == .readsTheOld && happens(0.2) ? oldEntries[entry] : entries[entry]
    }

    func compare(_ entry: ArchiveEntry, _ revision: ArchiveRevision?) throws {
        let isIgnored = [.ignoresRevisions, .commitsWithoutCompare, .lateWriterOverwrites].contains(mistake)
        guard entries[entry]?.revision == revision || isIgnored else {
            coverage.count(.conflict)
            throw AccountError(.conflict, "\(entry.rawValue) was changed by another process")
        }
    }

    func nextRevision() -> ArchiveRevision {
        lastRevision += 1
        return ArchiveRevision(bytes: withUnsafeBytes(of: lastRevision.bigEndian) { Array($0) })
    }

    func put(_ entry: ArchiveEntry, _ stored: StoredEntry?) {
        oldEntries[entry] = entries[entry]
        entries[entry] = stored
        guard entry == .account, mistake != .tellsNobody else { return }
        for process in processes where process.isReached { process.changeHappened() }
    }

    func end(_ transaction: ProcessTransaction) {
        note("\(transaction.process.name): ends its transaction")
        transaction.operation?.transactionCount -= 1
        transaction.hasEnded = true
        guard lockHolder === transaction, !transaction.process.isCutOff else { return }
        lockHolder = nil
        judge.checkAtRest()
    }

    func end(_ lease: ProcessLease) {
        note("\(lease.process.name): gives up the lease")
        judge.ended(lease)
        lease.hasEnded = true
        if leaseHolder === lease, !lease.process.isCutOff { leaseHolder = nil }
    }
}

/// The conditions of one schedule. Some schedules have no faults, and others have many.
struct Weather {
    let policy: Service.RefreshTokenPolicy
    let revoking: Service.Revoking

    /// Whether AccountKit knows that the service ends only one sign-in when it revokes tokens.
    let supportsPerGrantRevocation: Bool
    let knowsSpent: Bool
    let lifetime: TimeInterval?
    let bindsTokens: Bool
    let processCount: Int
    let operationCount: Int
    let concurrency: Int
    let troubles: Double
    let lostReplies: Double
    let lateReplies: Double
    let diskFaults: Double
    let crashes: Int
    let signals: Int
    let cancellations: Double
    let clockJumps: Double
    let store: Store

    /// The probabilities that a process is stopped, and that a process is cut off from the store.
    let stops: Double
    let cutOffs: Double
    let damage: Double

    /// The share of odd responses among the successful ones to a request with a refresh token.
    let oddAnswers: Double

    /// The kind of storage.
    enum Store {
        /// The kernel manages the locks, which cannot be lost.
        case files

        /// Locks can be lost unnoticed.
        case unfenced

        /// As in etcd, locks can be lost, and a change compares their holders.
        case fenced
    }

    /// Whether a lock can be lost unnoticed.
    var canLockBeLost: Bool { store == .unfenced }
    var isFenced: Bool { store == .fenced }

    init(_ mistake: Mistake?, using random: inout SeededGenerator) {
        policy = [.strict, .strict, .strict, .rotating, .lasting, .without, .machine].randomElement(using: &random)!
        revoking = [.single, .single, .single, .all, .all, .refuses, .notSupported].randomElement(using: &random)!
        knowsSpent = Bool.random(using: &random)
        lifetime = Bool.random(using: &random) ? 3600 : nil
        processCount = Int.random(in: 1...3, using: &random)
        operationCount = Int.random(in: 4...18, using: &random)
        concurrency = [2, 4, 8].randomElement(using: &random)!
        troubles = [0, 0.1, 0.3, 0.6].randomElement(using: &random)!
        lostReplies = [0, 0, 0.1, 0.3].randomElement(using: &random)!
        lateReplies = [0, 0.3, 0.7].randomElement(using: &random)!
        diskFaults = [0, 0, 0.03, 0.1, 0.3].randomElement(using: &random)!
        crashes = [0, 0, 1, 2, 3].randomElement(using: &random)!
        signals = [0, 0, 1, 2, 3].randomElement(using: &random)!
        cancellations = [0, 0, 0.02, 0.05, 0.1].randomElement(using: &random)!
        clockJumps = [0, 0.01, 0.04].randomElement(using: &random)!
        let store: Store =
            switch Int.random(in: 0..<12, using: &random) {
            case 0...1: .unfenced
            case 2...4: .fenced
            default: .files
            }
        self.store = mistake?.store ?? store
        // A mistake of a fenced store has an effect only if processes are stopped or cut off.
        stops = mistake?.store == .fenced ? 0.06 : [0, 0.02, 0.06].randomElement(using: &random)!
        cutOffs = mistake?.store == .fenced ? 0.02 : [0, 0, 0.02].randomElement(using: &random)!
        damage = [0, 0, 0, 0, 0, 0.03].randomElement(using: &random)!
        supportsPerGrantRevocation = Bool.random(using: &random) && revoking != .all
        bindsTokens = Bool.random(using: &random)
        oddAnswers = [0, 0.33, 0.33].randomElement(using: &random)!
    }
}
