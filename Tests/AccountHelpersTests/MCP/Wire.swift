import AccountCommands
import AccountKit
import AccountSupport
import Synchronization

@testable import AccountHelpers

extension ForwardedRequest {
    func contains(_ text: String) -> Bool {
        body.map { String(decoding: $0, as: UTF8.self).contains(text) } ?? false
    }
}

extension ForwardedResponse {
    static func json(
        _ text: String, status: Int = 200, type: String = "application/json", fields: [String: String] = [:]
    ) -> Self {
        stream(status: status, type: type, fields: fields) { continuation in
            continuation.yield(Array(text.utf8))
            continuation.finish()
        }
    }

    static func events(_ pieces: String...) -> Self {
        stream { continuation in
            for piece in pieces { continuation.yield(Array(piece.utf8)) }
            continuation.finish()
        }
    }

    static func stream(
        status: Int = 200, type: String = "text/event-stream", fields: [String: String] = [:],
        _ body: (AsyncThrowingStream<[UInt8], any Error>.Continuation) -> Void
    ) -> Self {
        ForwardedResponse(
            status: status, fields: [("Content-Type", type)] + fields.map { ($0.key, $0.value) },
            body: AsyncThrowingStream([UInt8].self) { body($0) }, hiding: [Secret("canary/0123456789+abcdef")])
    }
}

/// What the bridge has written and requested.
final class Wire: Sendable {
    private struct State {
        var lines: [String] = []
        var said: [String] = []
        var requests: [ForwardedRequest] = []
        var waiting: [(isDone: (State) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    var requests: [ForwardedRequest] { state.withLock(\.requests) }
    var said: [String] { state.withLock(\.said) }
    var isEmpty: Bool { state.withLock(\.lines.isEmpty) }

    func note(_ request: ForwardedRequest) { change { $0.requests.append(request) } }

    func say(_ text: String) { change { $0.said.append(text) } }

    func write(_ line: [UInt8]) { change { $0.lines.append(String(decoding: line.dropLast(), as: UTF8.self)) } }

    /// The next line that the bridge has written.
    func next() async -> String {
        await wait { !$0.lines.isEmpty }
        return state.withLock { $0.lines.removeFirst() }
    }

    /// Waits for a request.
    func request(_ isMeant: @escaping @Sendable (ForwardedRequest) -> Bool) async {
        await wait { $0.requests.contains(where: isMeant) }
    }

    private func change(_ body: (inout State) -> Void) {
        let done = state.withLock { state in
            body(&state)
            let now = state
            state.waiting.removeAll { $0.isDone(now) }
            return now.waiting.filter { $0.isDone(now) }.map(\.continuation)
        }
        for continuation in done { continuation.resume() }
    }

    private func wait(_ isDone: @escaping @Sendable (State) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if !isDone(state) { state.waiting.append((isDone, continuation)) }
                return isDone(state)
            }
            if isOver { continuation.resume() }
        }
    }
}
