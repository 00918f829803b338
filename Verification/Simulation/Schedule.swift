import AccountKit
import CSimulation

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One life of a session. The seed alone determines which process continues, dies, is cancelled or begins an operation.
struct Schedule {
    let seed: UInt64
    let world: World
    var operations: [Operation] = []
    private var operationCount = 0
    var crashCount = 0
    private var signalCount = 0
    var lifeCount = 0

    init(seed: UInt64, mistake: Mistake?, isTraced: Bool = false) {
        self.seed = seed
        simulation_seed(seed)
        world = World(seed: seed, mistake: mistake, isTraced: isTraced)
    }

    struct Result {
        let violation: Violation?
        let coverage: Coverage
        let trace: [String]

        /// Differs if any step was different.
        let fingerprint: UInt64
    }

    mutating func run() -> Result {
        for index in 0..<world.weather.processCount { startProcess(index) }
        // Most lives begin with a signed-in user.
        if world.happens(0.8) {
            begin(.signIn, in: world.processes[0])
            drain(calmly: true)
        }
        var stepCount = 0
        while world.judge.violation == nil, stepCount < 600, step() {
            stepCount += 1
            world.step = stepCount
        }
        if world.judge.violation == nil { comeToRest() }
        for process in world.processes { process.stop() }
        world.runJobs()
        let fingerprint = world.random.next() &+ UInt64(stepCount) &+ UInt64(world.judge.versions.count) << 32
        return Result(
            violation: world.judge.violation, coverage: world.coverage, trace: world.trace ?? [],
            fingerprint: fingerprint)
    }

    // MARK: Steps

    /// Takes one step. Returns `false` if there was nothing to do.
    private mutating func step() -> Bool {
        operations.removeAll { $0.outcome != nil || !$0.process.isAlive }
        let weather = world.weather
        let isMoreToDo = operationCount < weather.operationCount
        if !isMoreToDo, operations.isEmpty, world.turns.isEmpty { return false }
        if world.mistake == .usesOtherRandomness, Bool.random() { _ = world.random.next() }
        if world.happens(weather.clockJumps) { jump() }
        if world.happens(weather.cancellations) { cancel() }
        if crashCount < weather.crashes, world.happens(0.04) { crash() }
        if signalCount < weather.signals, world.happens(0.04) { signal() }
        if world.happens(0.03) { serviceActs() }
        if !world.lateRequests.isEmpty, world.happens(0.1) { arriveLate() }
        if weather.canLockBeLost, world.lockHolder != nil, world.happens(0.05) {
            world.note("the lock of \(world.lockHolder!.process.name) is lost")
            world.coverage.count(.lockLost)
            world.lockHolder = nil
        }
        if weather.canLockBeLost, world.leaseHolder != nil, world.happens(0.02) {
            world.note("the lease of \(world.leaseHolder!.process.name) is lost")
            world.coverage.count(.leaseLost)
            world.leaseHolder = nil
        }
        if weather.isFenced { happensToStore() }
        if world.happens(weather.damage) { damage() }
        let isQuiet = world.turns.allSatisfy { world.isBlocked($0) || world.isLate($0) }
        if isMoreToDo, operations.count < weather.concurrency, isQuiet || world.happens(0.2) {
            beginSomething()
        }
        takeATurn()
        return true
    }

    /// Takes a random turn that is not blocked by a lock, or makes a wait for a lock time out. Late turns are taken when they are due, or
    /// if no other turn is left.
    mutating func takeATurn() {
        let blocked = world.turns.filter(world.isBlocked)
        for turn in blocked { turn.hasWaited = true }
        if let first = blocked.first(where: { !$0.process.isStopped }), !world.isCalm, world.happens(0.01) {
            world.reachTimeout(first)
            return
        }
        let others = world.turns.filter { !world.isBlocked($0) }
        let ready = others.filter { !world.isLate($0) }
        guard let turn = (ready.isEmpty ? others : ready).randomElement(using: &world.random) else { return }
        world.take(turn)
        endSignalled()
    }

    private mutating func beginSomething() {
        // A process that is about to end begins nothing.
        let processes = world.processes.filter { !$0.isSignalled && !$0.isStopped }
        guard let process = processes.randomElement(using: &world.random) else { return }
        // Prefer a sign-in if no user is signed in, because most other operations then do nothing.
        if world.judge.versions.last!.account == nil, world.happens(0.4) {
            begin(.signIn, in: process)
            return
        }
        if world.hasUnsentToken, world.happens(0.8) {
            begin(.refresh, in: process)
            return
        }
        let total = Operation.Kind.allCases.reduce(0) { $0 + $1.weight }
        var number = Int.random(in: 0..<total, using: &world.random)
        for kind in Operation.Kind.allCases {
            number -= kind.weight
            guard number < 0 else { continue }
            begin(kind, in: process)
            return
        }
    }

    mutating func begin(_ kind: Operation.Kind, in process: SimulatedProcess, ignoringPauses: Bool = false) {
        operationCount += 1
        let user = Bool.random(using: &world.random) ? "alice" : "bob"
        let client = world.happens(0.2) ? "other" : "tool"
        let operation = Operation(
            number: operationCount, kind: kind, user: user, client: client,
            ignoresPauses: ignoringPauses || world.happens(0.3), process: process)
        operations.append(operation)
        world.note(
            "\(process.name): \(kind) \(operationCount) begins\(kind.isSignIn ? ", as \(user) with \(client)" : "")")
        operation.start()
        world.runJobs()
        world.judge.settle()
    }

    private func jump() {
        // At least five minutes: the pause after a failure is random, and shorter.
        let seconds = Double([1, 2, 12, 100, 1000].randomElement(using: &world.random)!) * 301
        let isForward = Bool.random(using: &world.random)
        world.coverage.count(isForward ? .clockForward : .clockBack)
        world.note("the clock goes \(isForward ? "forward" : "back") by \(Int(seconds)) s")
        world.date += isForward ? seconds : -seconds
    }

    private func cancel() {
        var candidates = operations.filter { !$0.isCancelled && !$0.process.isStopped }
        // Prefer operations that wait for an exchange, whose cancellation is the most critical case.
        if world.happens(0.5) {
            let waiting = candidates.filter { operation in
                world.turns.contains { $0.operation === operation && $0.call.isExchange }
            }
            if !waiting.isEmpty { candidates = waiting }
        }
        guard let operation = candidates.randomElement(using: &world.random) else { return }
        world.note("\(operation.process.name): \(operation.kind) \(operation.number) is cancelled")
        world.coverage.count(.cancelled)
        operation.cancel()
        world.runJobs()
        world.judge.settle()
    }

    /// Sends a signal to a process. The process ends immediately, or after its exchanges. At the second signal, it does
    /// not wait.
    private mutating func signal() {
        var candidates = world.processes.filter { $0.exchangeCount > 0 && !$0.isStopped }
        if world.happens(0.1) { candidates = world.processes.filter { !$0.isStopped } }
        guard let process = candidates.randomElement(using: &world.random) else { return }
        signalCount += 1
        if process.isSignalled {
            world.note("\(process.name) gets a second signal")
            world.coverage.count(.secondSignal)
            end(process, isKilled: true)
            return
        }
        world.note("\(process.name) gets a signal")
        process.signal()
        if process.exchangeCount > 0, world.mistake != .diesAtOnce {
            world.coverage.count(.signalHeldBack)
        } else {
            world.coverage.count(.signalAtOnce)
            end(process, isKilled: false)
        }
    }

    private mutating func endSignalled() {
        for process in world.processes where process.isSignalled && !process.isStopped && process.exchangeCount == 0 {
            world.coverage.count(.signalAfterExchange)
            end(process, isKilled: false)
        }
    }

    private func serviceActs() {
        let grants = world.service.grants.indices.filter { !world.service.grants[$0].hasEnded }
        guard let grant = grants.randomElement(using: &world.random) else { return }
        if world.happens(0.3) {
            world.note("the service ends session \(grant)")
            world.service.end(grant)
        } else if world.service.policy != .machine, world.happens(0.2) {
            world.note("the service no longer renews session \(grant)")
            world.service.stopRenewing(grant, with: Service.refusals.randomElement(using: &world.random)!)
        } else {
            world.note("the access token of session \(grant) expires")
            world.service.expire(grant)
        }
    }

    func arriveLate() {
        let call = world.lateRequests.remove(at: Int.random(in: 0..<world.lateRequests.count, using: &world.random))
        world.arriveLate(call)
        world.judge.checkAtRest()
    }

    private func damage() {
        // Don't damage the archive during a transaction, whose tokens could then not be stored.
        guard world.entries[.account] != nil, world.lockHolder == nil else { return }
        world.note("Account.plist is damaged")
        world.coverage.count(.damage)
        world.judge.damaged()
        world.put(.account, StoredEntry(bytes: [0], revision: world.nextRevision()))
    }
}
