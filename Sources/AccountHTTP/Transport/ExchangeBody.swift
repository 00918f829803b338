import NIOCore
import AccountCrypto
import Synchronization

/// The body of a token request, which the HTTP client requests after it has connected and sent the head. The body then
/// waits until the caller releases it or gives it up. Sending the body may consume a refresh token or a code. From then
/// on, only the exchange's own deadline ends the wait for the response.
final class ExchangeBody: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    private enum Stage {
        case connecting
        case connected
        case givenUp
        case sent
    }

    private struct State {
        var stage = Stage.connecting
        var condition: (@Sendable () -> Bool)?
        var isDisallowed = false
        var client: CheckedContinuation<Void, Never>?
    }

    let byteCount: Int64

    /// Yields once, when the connection is established or has failed.
    let connecting: AsyncStream<Void>

    /// Yields once, when the client may have sent the first byte.
    let sending: AsyncStream<Void>

    private let bytes: WipedBytes
    private let hasConnected: AsyncStream<Void>.Continuation
    private let isSending: AsyncStream<Void>.Continuation
    private let state = Mutex(State())

    init(_ bytes: WipedBytes) {
        self.bytes = bytes
        byteCount = Int64(bytes.count)
        (connecting, hasConnected) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
        (sending, isSending) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
    }

    /// Whether the service may have received any part of the body.
    var isSent: Bool { state.withLock { $0.stage == .sent } }

    var isConnected: Bool { state.withLock { [.connected, .sent].contains($0.stage) } }

    /// Whether the caller released the body but it was not sent, because the condition was false.
    var isDisallowed: Bool { state.withLock { $0.isDisallowed } }

    func release(if condition: @escaping @Sendable () -> Bool) {
        let client = state.withLock { state in
            state.condition = condition
            return state.client.take()
        }
        client?.resume()
    }

    /// Gives up the body. Returns `false` if the body may already be sent, or if `isConnecting` is `true` and the body
    /// has a connection.
    @discardableResult
    func giveUp(onlyWhileConnecting isConnecting: Bool = false) -> Bool {
        let (isGivenUp, client) = state.withLock { state in
            switch state.stage {
            case .sent: return (false, nil as CheckedContinuation<Void, Never>?)
            case .connected where isConnecting: return (false, nil)
            case .connecting, .connected, .givenUp:
                state.stage = .givenUp
                return (true, state.client.take())
            }
        }
        client?.resume()
        if isGivenUp { hasConnected.yield() }
        return isGivenUp
    }

    private func waitForRelease() async {
        let isFirst = state.withLock { state in
            guard state.stage == .connecting else { return false }
            state.stage = .connected
            return true
        }
        guard isFirst else { return }
        hasConnected.yield()
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.stage != .connected || state.condition != nil { return true }
                state.client = continuation
                return false
            }
            if isOver { continuation.resume() }
        }
    }

    private func send() -> ByteBuffer? {
        let buffer: ByteBuffer? = state.withLock { state in
            guard state.stage == .connected, let condition = state.condition else { return nil }
            guard condition() else {
                state.stage = .givenUp
                state.isDisallowed = true
                return nil
            }
            state.stage = .sent
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
            await body.waitForRelease()
            guard let bytes = body.send() else { throw CancellationError() }
            return bytes
        }
    }
}
