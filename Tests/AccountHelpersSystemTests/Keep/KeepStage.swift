import AccountKit
import AccountTesting
import Foundation
import Synchronization

@testable import AccountCommands
@testable import AccountHelpers

/// A loop that keeps a token file, and the surroundings of the loop.
final class KeepStage: KeepSurroundings {
    struct State: Sendable {
        var writes = 0
        var alarm: Date?
        /// The expiry of the last written token.
        var end: Date?
        var words: [String] = []
    }

    private struct Inside {
        var state = State()
        var waiting: [(isSo: @Sendable (State) -> Bool, told: AsyncStream<State>.Continuation)] = []
        var inputs: AsyncStream<KeepInput>.Continuation?
    }

    private let inside = Mutex(Inside())
    let clock = ManualClock()
    let service: RotatingService
    let storage = InMemoryArchiveStorage()
    let store: AccountStore
    let folder: String
    let file: TokenFile

    init() async throws {
        service = RotatingService(clock: clock)
        store = try await .inMemory(signedIn: service.account(), clock: clock, storage: storage)
        folder = "/dev/shm/keep-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        file = try TokenFile(path: folder + "/token")
    }

    func clean() { try? FileManager.default.removeItem(atPath: folder) }

    static func run(_ test: (KeepStage) async throws -> Void) async throws {
        let stage = try await KeepStage()
        defer { stage.clean() }
        let running = Task { await stage.loop.run() }
        do {
            try await test(stage)
        } catch {
            stage.inputs?.yield(.signal(15))
            _ = await running.value
            throw error
        }
        stage.inputs?.yield(.signal(15))
        _ = await running.value
    }

    /// Returns a loop. The stage sends signals and alarms to the last loop that it created.
    func anotherLoop() -> KeepLoop { loop }

    var loop: KeepLoop {
        KeepLoop(store: store, file: file, kind: .access, clock: clock) { [service] _ in
            service
        } surroundings: { inputs in
            inside.withLock { $0.inputs = inputs }
            return self
        }
    }

    var inputs: AsyncStream<KeepInput>.Continuation? { inside.withLock(\.inputs) }

    /// Returns a store for this session in another process.
    func otherProcess() -> AccountStore {
        AccountStore(
            storage: storage, appIdentifier: "testing", keys: [InMemoryKey()], clock: clock,
            lockTimeout: .seconds(300))
    }

    var state: State { inside.withLock(\.state) }

    /// The file's content, or `nil` if the file does not exist.
    var text: String? { try? String(contentsOfFile: file.path, encoding: .utf8) }

    func ring() { inputs?.yield(.alarm) }

    /// Waits until the loop is idle and its state meets a condition.
    func wait(_ isSo: @escaping @Sendable (State) -> Bool) async throws -> State {
        let (states, told) = AsyncStream.makeStream(of: State.self)
        let now: State? = inside.withLock { inside in
            if isSo(inside.state) { return inside.state }
            inside.waiting.append((isSo, told))
            return nil
        }
        if let now { return now }
        for await state in states { return state }
        throw CancellationError()
    }

    func setAlarm(_ date: Date?) { change { $0.alarm = date } }

    func report(_ report: KeepReport) {
        switch report {
        case .written(let token):
            // Waiting tests need the next alarm, which is set at the end of the turn.
            inside.withLock { inside in
                inside.state.writes += 1
                inside.state.words.append("written")
                inside.state.alarm = nil
                inside.state.end = token.expiresAt
            }
        case .removed: change { $0.words.append("removed") }
        case .needsPerson, .failed: break
        case .stopping: change { $0.words.append("stopping") }
        }
    }

    private func change(_ body: (inout State) -> Void) {
        let (state, done) = inside.withLock { inside in
            body(&inside.state)
            let state = inside.state
            let done = inside.waiting.filter { $0.isSo(state) }
            inside.waiting.removeAll { $0.isSo(state) }
            return (state, done.map(\.told))
        }
        for told in done { told.yield(state) }
    }
}

/// A service whose tokens contain their expiry at both ends.
final class RotatingService: AccountAuthority {
    var issuer: String? { nil }

    private struct State {
        var count = 0
        var end = Date.distantPast
        var token = ""
        var isOffline = false
        var onRefresh: @Sendable () async -> Void = {}
        var waiting: [AsyncStream<Void>.Continuation] = []
        var requests = 0
    }

    private let state = Mutex(State())
    private let clock: ManualClock

    init(clock: ManualClock) { self.clock = clock }

    var token: String { state.withLock(\.token) }
    var isOffline: Bool {
        get { state.withLock(\.isOffline) }
        set { state.withLock { $0.isOffline = newValue } }
    }

    func onRefresh(_ body: @escaping @Sendable () async -> Void) { state.withLock { $0.onRefresh = body } }

    func waitForRefresh() async throws {
        let (requests, told) = AsyncStream.makeStream(of: Void.self)
        let isThere = state.withLock { state in
            if state.requests == 0 { state.waiting.append(told) }
            return state.requests > 0
        }
        if isThere { return }
        for await _ in requests { return }
        throw CancellationError()
    }

    private func credentials() -> Credentials {
        let now = clock.now
        return state.withLock { state in
            state.count += 1
            state.end = now.addingTimeInterval(3600)
            let mark = "\(state.count):\(Int(state.end.timeIntervalSince1970))"
            state.token = mark + "/" + String(repeating: "x", count: 3000) + "/" + mark
            return Credentials(
                accessToken: Secret(state.token), refreshToken: Secret("refresh-\(state.count)"), issuedAt: now,
                expiresAt: state.end)
        }
    }

    func account() -> Account { Account(id: "1", issuer: nil, username: "alice", credentials: credentials()) }

    func refresh(_ account: Account) async throws -> Credentials {
        let (hook, waiting) = state.withLock { state in
            state.requests += 1
            defer { state.waiting = [] }
            return (state.onRefresh, state.waiting)
        }
        for told in waiting { told.yield() }
        await hook()
        if isOffline { throw AuthorityError.noResponse(.unreachable) }
        return credentials()
    }

    func verify(_ account: Account) async throws -> Identity { Identity(id: account.id) }
    func isAuthority(of account: Account) -> Bool { true }
}

/// The observations of a repeated reader of the file.
struct KeepReading: Sendable {
    var reads = 0
    var tokens = 0
    var problems: [String] = []
}

extension Thread {
    /// Reads a file repeatedly, until the number of reads is sufficient and a condition is true.
    static func reading(
        _ path: String, _ clock: ManualClock, atLeast count: Int, until isOver: @escaping @Sendable () -> Bool
    ) -> Task<KeepReading, Never> {
        let (stream, continuation) = AsyncStream.makeStream(of: KeepReading.self)
        let thread = Thread {
            var result = KeepReading()
            var last: Substring = ""
            var buffer = [UInt8](repeating: 0, count: 8192)
            while result.reads < count || !isOver() {
                // The token must be valid at least until the time before the file is opened.
                let before = Int(clock.now.timeIntervalSince1970)
                let descriptor = open(path, O_RDONLY)
                let got = descriptor < 0 ? -1 : read(descriptor, &buffer, buffer.count)
                let code = errno
                close(descriptor)
                // The loop may not have written the first token yet.
                if got < 0, result.reads == 0 { continue }
                result.reads += 1
                let text = got < 0 ? "" : String(decoding: buffer[..<got], as: UTF8.self)
                let parts = text.split(separator: "/", omittingEmptySubsequences: false)
                guard parts.count == 3, parts[0] == parts[2], parts[1].utf8.count == 3000,
                    let end = parts[0].split(separator: ":").last.flatMap({ Int($0) })
                else {
                    result.problems.append("half a token: \(got) bytes (\(String(cString: strerror(code))))")
                    break
                }
                if end <= before { result.problems.append("a token that expired \(before - end) s ago") }
                if parts[0] != last { result.tokens += 1 }
                last = parts[0]
            }
            continuation.yield(result)
            continuation.finish()
        }
        thread.start()
        return Task {
            for await result in stream { return result }
            return KeepReading()
        }
    }
}
