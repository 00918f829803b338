import NIOCore
import Sealing
import Synchronization

/// The body of a token exchange: the point of no return.
///
/// It is sent or given up, whichever is first, and never both. What is sent may spend a refresh token or a code, so from
/// then on nothing but the exchange's own deadline ends the wait for the response.
final class ExchangeBody: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    private enum State {
        case waiting
        case givenUp
        case sent
    }

    let byteCount: Int64

    /// Yields once, when the first byte may have been sent.
    let sending: AsyncStream<Void>

    private let bytes: WipedBytes
    private let isSending: AsyncStream<Void>.Continuation
    private let state = Mutex(State.waiting)

    init(_ bytes: WipedBytes) {
        self.bytes = bytes
        byteCount = Int64(bytes.count)
        (sending, isSending) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
    }

    /// Whether the service may have got any of it.
    var isSent: Bool {
        state.withLock { $0 == .sent }
    }

    /// - Returns: `false` if it is too late: the body is being sent.
    func giveUp() -> Bool {
        state.withLock { state in
            if state == .sent { return false }
            state = .givenUp
            return true
        }
    }

    private func send() -> ByteBuffer? {
        let buffer: ByteBuffer? = state.withLock { state in
            guard state == .waiting else { return nil }
            state = .sent
            return ByteBuffer(bytes: bytes)
        }
        if buffer != nil { isSending.yield() }
        return buffer
    }

    func makeAsyncIterator() -> Iterator { Iterator(body: self) }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let body: ExchangeBody
        fileprivate var isDone = false

        mutating func next() async throws -> ByteBuffer? {
            if isDone { return nil }
            isDone = true
            guard let bytes = body.send() else { throw CancellationError() }
            return bytes
        }
    }
}
