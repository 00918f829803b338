import Foundation
import Subprocess
import Testing

struct RunningCommand: Sendable {
    /// The text on standard output and on standard error so far.
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

    /// Sends a signal, and waits until the program has received it, so that the test's next action follows the signal.
    ///
    /// - Throws: `Unexpected` if the program does not receive the signal within a minute.
    func send(_ signal: Signal) async throws {
        try deliver(signal)
        let deadline = ContinuousClock.now + .seconds(60)
        while hasPendingSignal(process) {
            guard ContinuousClock.now < deadline else { throw Unexpected("\(signal) was not delivered in a minute") }
            await Task.yield()
        }
    }
}

/// Whether a signal to a process is pending (proc(5), `ShdPnd`). A zombie process keeps signals that came too late.
private func hasPendingSignal(_ process: Int32) -> Bool {
    // Without a status file, the process has ended.
    guard let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8) else { return false }
    let lines = status.split(separator: "\n")
    func value(_ name: String) -> Substring? {
        lines.first { $0.hasPrefix(name + ":\t") }?.dropFirst(name.count + 2)
    }
    guard let state = value("State"), !state.hasPrefix("Z"), !state.hasPrefix("X") else { return false }
    return value("ShdPnd")?.contains { $0 != "0" } == true
}

/// The lines that a program writes while it runs.
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

    /// Waits until a string has been written.
    ///
    /// - Throws: `Unexpected` if the program ends without the text.
    func wait(for text: String) async throws {
        _ = try await match { $0.contains(text) ? text : nil }
    }

    /// Waits until `find` returns a value for the text so far, and returns that value.
    ///
    /// - Throws: `Unexpected` if the program ends without a match, or if the test runs out of time.
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
                (hasEnded ? "the program ended" : "the test was cancelled") + ", and had written only: \(text)")
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
    /// Runs the program until it ends, and calls a closure while it runs.
    ///
    /// - Parameters:
    ///   - input: The text on standard input.
    ///   - meanwhile: Receives the command. If the closure throws, the function kills the program.
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
    /// Whether the signal itself ended the program. If the program caught the signal and then exited, the result is
    /// `false`.
    func wasEnded(by signal: Signal) -> Bool { status == .signaled(signal.rawValue) }
}
