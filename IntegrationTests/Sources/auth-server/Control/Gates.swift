/// Gates, which hold responses until a control request opens them.
///
/// A gate has a name and is closed until it is opened for the first time. It makes delays unnecessary: a response is
/// held exactly until a test opens the gate.
actor Gates {
    private struct Watch {
        let gate: String
        let count: Int
        let continuation: CheckedContinuation<Void, any Error>
    }

    private var openGates: Set<String> = []
    private var held: [Int: (gate: String, continuation: CheckedContinuation<Void, any Error>)] = [:]
    private var arrivals: [String: Int] = [:]
    private var watches: [Int: Watch] = [:]
    private var lastID = 0

    /// Waits until a gate is open.
    ///
    /// - Throws: `CancellationError`.
    func pass(_ gate: String) async throws {
        guard !openGates.contains(gate) else { return }
        try await suspend { id, continuation in
            held[id] = (gate, continuation)
            arrivals[gate, default: 0] += 1
            tellWatches()
        }
    }

    /// Waits until `count` responses have been held at a gate since it was closed, whether or not they have been
    /// released since.
    ///
    /// - Throws: `CancellationError`.
    func waitForArrivals(_ count: Int, at gate: String) async throws {
        try await suspend { id, continuation in
            watches[id] = Watch(gate: gate, count: count, continuation: continuation)
            tellWatches()
        }
    }

    /// Opens a gate: releases all responses that it holds, and lets later responses pass immediately.
    ///
    /// - Returns: The number of released responses.
    func open(_ gate: String) -> Int {
        openGates.insert(gate)
        let leaving = held.filter { $0.value.gate == gate }
        for (id, response) in leaving {
            held[id] = nil
            response.continuation.resume()
        }
        return leaving.count
    }

    /// Closes an open gate, as if it were new.
    func close(_ gate: String) {
        openGates.remove(gate)
        arrivals[gate] = held.values.count { $0.gate == gate }
    }

    private func tellWatches() {
        for (id, watch) in watches where arrivals[watch.gate, default: 0] >= watch.count {
            watches[id] = nil
            watch.continuation.resume()
        }
    }

    private func suspend(_ begin: (Int, CheckedContinuation<Void, any Error>) -> Void) async throws {
        lastID += 1
        let id = lastID
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                if Task.isCancelled {
                    continuation.resume(throwing: CancellationError())
                } else {
                    begin(id, continuation)
                }
            }
        } onCancel: {
            Task { await self.cancel(id) }
        }
    }

    private func cancel(_ id: Int) {
        held.removeValue(forKey: id)?.continuation.resume(throwing: CancellationError())
        watches.removeValue(forKey: id)?.continuation.resume(throwing: CancellationError())
    }
}
