import Foundation
import Subprocess
import Testing

/// A command while it runs.
struct RunningCommand: Sendable {
    /// What it has written to standard output, and to standard error.
    let output: WrittenLines
    let errors: WrittenLines
    private let deliver: @Sendable (Signal) throws -> Void

    fileprivate init(output: WrittenLines, errors: WrittenLines, deliver: @escaping @Sendable (Signal) throws -> Void) {
        self.output = output
        self.errors = errors
        self.deliver = deliver
    }

    func send(_ signal: Signal) throws { try deliver(signal) }
}

/// Whether a signal that was sent to a process has not reached it yet (proc(5), `ShdPnd`). One that has ended has none.
private func hasPendingSignal(_ process: Int32) -> Bool {
    guard let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8),
        let line = status.split(separator: "\n").first(where: { $0.hasPrefix("ShdPnd:") })
    else { return false }
    return line.dropFirst("ShdPnd:".count).contains { $0 != "0" && $0 != "\t" }
}

/// What a program writes, line by line, while it does.
actor WrittenLines {
    private(set) var text = ""
    private var hasEnded = false
    private var waiting: [(isThere: @Sendable (String) -> Bool, continuation: CheckedContinuation<Bool, Never>)] = []

    fileprivate func add(_ line: String) {
        text += line + "\n"
        let (done, rest) = waiting.partitioned { $0.isThere(text) }
        waiting = rest
        for wait in done { wait.continuation.resume(returning: true) }
    }

    fileprivate func end() {
        hasEnded = true
        for wait in waiting { wait.continuation.resume(returning: false) }
        waiting = []
    }

    /// Waits until a text has been written.
    ///
    /// - Throws: `Unexpected` when the program has ended without it.
    func wait(for text: String) async throws {
        _ = try await match { $0.contains(text) ? text : nil }
    }

    /// Waits until there is something to be found in what has been written, and returns it.
    ///
    /// - Throws: `Unexpected` when the program has ended without it.
    func match<Found>(_ find: @escaping @Sendable (String) -> Found?) async throws -> Found {
        if let found = find(text) { return found }
        if !hasEnded {
            _ = await withCheckedContinuation { waiting.append(({ find($0) != nil }, $0)) }
        }
        guard let found = find(text) else { throw Unexpected("the program ended and had written only: \(text)") }
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
            let running = RunningCommand(output: WrittenLines(), errors: WrittenLines()) {
                try execution.send(signal: $0)
                // Sent is not yet taken: what the test does next is to come after it.
                while hasPendingSignal(process) {}
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
