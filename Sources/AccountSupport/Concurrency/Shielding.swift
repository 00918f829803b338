/// Runs `body` to its end, even if the task is cancelled.
package func shielded<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
    try await Task { try await body() }.value
}

package func shielded<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) async -> Value {
    await Task { await body() }.value
}

/// Runs `body`, and cancels it at a deadline. Returns `nil` if the deadline has passed.
package func withDeadline<Value: Sendable>(
    _ deadline: ContinuousClock.Instant?, _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value? {
    guard let deadline else { return try await body() }
    return try await withThrowingTaskGroup(of: Value?.self) { group in
        group.addTask { try await body() }
        group.addTask {
            try await Task.sleep(until: deadline, clock: .continuous)
            return nil
        }
        defer { group.cancelAll() }
        return try await group.next() ?? nil
    }
}
