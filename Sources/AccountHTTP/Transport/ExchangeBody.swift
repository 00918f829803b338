import NIOCore
import Sealing
import Synchronization

/// The body of a token exchange: the point of no return.
///
/// It is sent or given up, whichever is first, and never both. What is sent may spend a refresh token or a code, so from
/// then on nothing but the exchange's own deadline ends the wait for the reply.
final class ExchangeBody: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    private enum State {
        case waiting
        case givenUp
        /// With the bytes as the network library has them, until they are wiped.
        case sent(ByteBuffer)
    }

    /// In bytes.
    let length: Int64

    /// An element once the body is being sent.
    let sending: AsyncStream<Void>

    private let bytes: WipedBytes
    private let isSending: AsyncStream<Void>.Continuation
    private let state = Mutex(State.waiting)

    init(_ bytes: WipedBytes) {
        self.bytes = bytes
        length = Int64(bytes.count)
        (sending, isSending) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
    }

    /// Whether the service may have got any of it.
    var isSent: Bool {
        state.withLock { if case .sent = $0 { true } else { false } }
    }

    /// Makes sure that the body will not be sent.
    ///
    /// - Returns: `false` if it is too late for that.
    func giveUp() -> Bool {
        state.withLock { state in
            if case .sent = state { return false }
            state = .givenUp
            return true
        }
    }

    /// The bytes, for the network library; `nil` if they are not to be sent.
    private func send() -> ByteBuffer? {
        let buffer: ByteBuffer? = state.withLock { state in
            guard case .waiting = state else { return nil }
            let buffer = ByteBuffer(bytes: bytes)
            state = .sent(buffer)
            return buffer
        }
        if buffer != nil { isSending.yield() }
        return buffer
    }

    /// Zeroes what the network library was given. Only for when the reply has come, and nobody reads it any more.
    func wipe() {
        state.withLock { state in
            guard case .sent(let buffer) = state else { return }
            buffer.withUnsafeReadableBytes { Wiping.zero($0) }
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(body: self) }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let body: ExchangeBody
        private var isDone = false

        fileprivate init(body: ExchangeBody) { self.body = body }

        mutating func next() async throws -> ByteBuffer? {
            if isDone { return nil }
            isDone = true
            guard let bytes = body.send() else { throw CancellationError() }
            return bytes
        }
    }
}
