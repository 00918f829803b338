import Foundation
import Subprocess
import Testing

/// A command while it runs.
struct RunningCommand: Sendable {
    /// What it has written to standard output, and to standard error.
    let output: WrittenLines
    let errors: WrittenLines
    private let process: Int32
    private let deliver: @Sendable (Signal) throws -> Void

    fileprivate init(
        output: WrittenLines, errors: WrittenLines, process: Int32,
        deliver: @escaping @Sendable (Signal) throws -> Void
    ) {
        self.output = output
        self.errors = errors
        self.process = process
        self.deliver = deliver
    }

    /// Sends a signal, and waits until it has reached the program: what the test does next is to come after it.
    ///
    /// - Throws: `Unexpected` when the program has not taken it within a minute.
    func send(_ signal: Signal) async throws {
        try deliver(signal)
        let deadline = ContinuousClock.now + .seconds(60)
        while hasPendingSignal(process) {
            guard ContinuousClock.now < deadline else { throw Unexpected("\(signal) was not taken within a minute") }
            await Task.yield()
        }
    }
}

/// Whether a signal that was sent to a process has not reached it yet (proc(5), `ShdPnd`). One that has ended, and that
/// nobody has asked about yet, keeps what came too late for it.
private func hasPendingSignal(_ process: Int32) -> Bool {
    // Without one there is no such process any more.
    guard let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8) else { return false }
    let lines = status.split(separator: "\n")
    func value(_ name: String) -> Substring? {
        lines.first { $0.hasPrefix(name + ":\t") }?.dropFirst(name.count + 2)
    }
    guard let state = value("State"), !state.hasPrefix("Z"), !state.hasPrefix("X") else { return false }
    return value("ShdPnd")?.contains { $0 != "0" } == true
}

/// What a program writes, line by line, while it does.
actor WrittenLines {
    private(set) var text = ""
    private var hasEnded = false
    private var waiting: [Waiter] = []

    private struct Waiter {
        let id: UUID
        let isThere: @Sendable (String) -> Bool
        let continuation: CheckedContinuation<Void, Never>
    }

    fileprivate func add(_ line: String) {
        text += line + "\n"
        let (done, rest) = waiting.partitioned { $0.isThere(text) }
        waiting = rest
        for waiter in done { waiter.continuation.resume() }
    }

    fileprivate func end() {
        hasEnded = true
        for waiter in waiting { waiter.continuation.resume() }
        waiting = []
    }

    private func giveUp(_ id: UUID) {
        guard let index = waiting.firstIndex(where: { $0.id == id }) else { return }
        waiting.remove(at: index).continuation.resume()
    }

    /// Waits until a text has been written.
    ///
    /// - Throws: `Unexpected` when the program has ended without it.
    func wait(for text: String) async throws {
        _ = try await match { $0.contains(text) ? text : nil }
    }

    /// Waits until there is something to be found in what has been written, and returns it.
    ///
    /// - Throws: `Unexpected` when the program has ended without it, or the test has no time left.
    func match<Found>(_ find: @escaping @Sendable (String) -> Found?) async throws -> Found {
        if let found = find(text) { return found }
        if !hasEnded {
            let id = UUID()
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    if Task.isCancelled {
                        continuation.resume()
                    } else {
                        waiting.append(Waiter(id: id, isThere: { find($0) != nil }, continuation: continuation))
                    }
                }
            } onCancel: {
                Task { await giveUp(id) }
            }
        }
        guard let found = find(text) else {
            throw Unexpected(
                (hasEnded ? "the program ended" : "the test was ended meanwhile") + ", and had written only: \(text)")
        }
        return found
    }
}

extension Array {
    fileprivate func partitioned(by condition: (Element) -> Bool) -> (fitting: [Element], others: [Element]) {
        (filter(condition), filter { !condition($0) })
    }
}

extension Command {
    /// Runs the program to its end, and does something meanwhile.
    ///
    /// - Parameters:
    ///   - input: What is on its standard input.
    ///   - meanwhile: Gets the command. If it throws, the program is killed.
    func whileRunning(
        input: String = "", _ meanwhile: (RunningCommand) async throws -> Void
    ) async throws -> Outcome {
        let result = try await Subprocess.run(
            executable, arguments: subprocessArguments, environment: subprocessEnvironment, input: .inputWriter,
            output: .sequence, error: .sequence
        ) { execution in
            let process = execution.processIdentifier.value
            let running = RunningCommand(output: WrittenLines(), errors: WrittenLines(), process: process) {
                try execution.send(signal: $0)
            }
            async let output: Void = {
                for try await line in execution.standardOutput.strings() { await running.output.add(line) }
                await running.output.end()
            }()
            async let errors: Void = {
                for try await line in execution.standardError.strings() { await running.errors.add(line) }
                await running.errors.end()
            }()
            _ = try? await execution.standardInputWriter.write(input)
            try? await execution.standardInputWriter.finish()
            do {
                try await meanwhile(running)
            } catch {
                try? execution.send(signal: .kill)
                throw error
            }
            try await output
            try await errors
            return (await running.output.text, await running.errors.text)
        }
        return Outcome(
            command: words.joined(separator: " "), status: result.terminationStatus,
            output: result.closureResult.0, errors: result.closureResult.1)
    }
}

extension Outcome {
    /// Whether a signal ended the program, which neither caught it for good nor ended by itself.
    func wasEnded(by signal: Signal) -> Bool { status == .signaled(signal.rawValue) }
}
