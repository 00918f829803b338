import Foundation
import Testing

/// Limits the number of concurrent tests, so that no program is slow enough to reach its own timeout, and cancels tests
/// that take too long. `.timeLimit` is unsuitable, since it includes the time in the queue.
struct Queued: TestTrait, SuiteTrait, TestScoping {
    let minutes: Int

    private static let slots = Slots(count: ProcessInfo.processInfo.activeProcessorCount * 2 + 2)

    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        await Self.slots.take()
        do {
            // The group ends before this function does.
            try await withoutActuallyEscaping(function) { function in
                try await withThrowingTaskGroup { group in
                    group.addTask { try await function() }
                    group.addTask {
                        try await Task.sleep(for: .seconds(60 * minutes))
                        Issue.record("it took more than \(minutes) minutes")
                    }
                    try await group.next()
                    group.cancelAll()
                }
            }
        } catch {
            await Self.slots.giveBack()
            throw error
        }
        await Self.slots.giveBack()
    }

    private actor Slots {
        private var free: Int
        private var waiting: [CheckedContinuation<Void, Never>] = []

        init(count: Int) { free = count }

        func take() async {
            if free > 0 {
                free -= 1
            } else {
                await withCheckedContinuation { waiting.append($0) }
            }
        }

        func giveBack() {
            if waiting.isEmpty {
                free += 1
            } else {
                waiting.removeFirst().resume()
            }
        }
    }
}

extension Trait where Self == Queued {
    /// The test waits for its turn, and then has five minutes.
    static var queued: Self { queued(minutes: 5) }

    /// The test waits for its turn, and then has the given number of minutes.
    static func queued(minutes: Int) -> Self { Queued(minutes: minutes) }
}
