import HTTPTypes
import NIOCore
import Synchronization
import AccountSupport

final class BodyTransfer: Sendable {
    private struct State {
        var lastMove = ContinuousClock.now
        var failure: (any Error)?
    }

    private let body: AuthenticatedClient.BodyStream?
    private let receiver: @Sendable (HTTPResponse, Data) async throws -> Void
    private let state = Mutex(State())

    init(
        _ body: AuthenticatedClient.BodyStream?,
        _ receive: @escaping @Sendable (HTTPResponse, Data) async throws -> Void
    ) {
        self.body = body
        receiver = receive
    }

    var byteCount: Int? { body?.byteCount }

    /// The error that the caller's code threw, which is more specific than the failure of the request.
    var failure: (any Error)? { state.withLock { $0.failure } }

    var idleTime: Duration { state.withLock { $0.lastMove.duration(to: .now) } }

    func begin() { state.withLock { $0 = State() } }

    func receive(_ head: HTTPResponse, _ piece: Data) async throws {
        try await own { try await receiver(head, piece) }
    }

    fileprivate func pieces() async throws -> AsyncThrowingStream<Data, any Error>? {
        try await own { try await body?.pieces() }
    }

    fileprivate func next(_ iterator: inout AsyncThrowingStream<Data, any Error>.Iterator) async throws -> Data? {
        try await own { try await iterator.next() }
    }

    private func own<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            let value = try await body()
            state.withLock { $0.lastMove = .now }
            return value
        } catch {
            state.withLock { $0.failure = error }
            throw error
        }
    }

    func wholeBody() async throws -> Data? {
        guard var iterator = try await pieces()?.makeAsyncIterator() else { return nil }
        var whole = Data()
        while let piece = try await next(&iterator) { whole.append(piece) }
        return whole
    }
}

/// The pieces of a body, each as a separate buffer, which ``WipingHandler`` zeroes after the write.
struct BodyBuffers: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    let transfer: BodyTransfer

    func makeAsyncIterator() -> Iterator { Iterator(transfer: transfer) }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let transfer: BodyTransfer
        fileprivate var pieces: AsyncThrowingStream<Data, any Error>.Iterator?

        mutating func next() async throws -> ByteBuffer? {
            if pieces == nil { pieces = try await transfer.pieces()?.makeAsyncIterator() }
            guard var pieces, let piece = try await transfer.next(&pieces) else { return nil }
            self.pieces = pieces
            return ByteBuffer(bytes: piece)
        }
    }
}
