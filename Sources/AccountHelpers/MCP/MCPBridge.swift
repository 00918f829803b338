import AccountCommands
import AccountKit
import AccountSupport

/// Forwards the messages of an MCP client to a server, and the server's messages to the client.
///
/// The client speaks the stdio transport, and the server Streamable HTTP. Both are either of revision 2026-07-28, where
/// each request names its version, or earlier, where `initialize` begins a session. The bridge forwards messages
/// unchanged, except for responses to `tools/list` (see ``MCPMirroredParameters``), the ids of errors without one, and
/// tokens that the server repeats (see ``ForwardedResponse``).
///
/// Source: Model Context Protocol 2026-07-28, "stdio" and "Streamable HTTP"; 2025-06-18, "Transports".
actor MCPBridge {
    /// The default of ``Limits/messageByteCount``.
    static let maximumByteCount = 16 << 20

    /// The requests that wait for a response at a time. Further ones are refused, so that the client can still cancel.
    static let maximumRequestCount = 256

    /// The bytes of messages that the server has not taken. Above it, the bridge refuses further ones, so that the
    /// client can still cancel.
    static let maximumPendingByteCount = 64 << 20

    struct Exchange {
        let id: MCPRequestID?

        /// Whether the request is of revision 2026-07-28 or later.
        let isModern: Bool

        /// Whether the response is a stream without an end.
        let isSubscription: Bool
        var task: Task<Void, Never>?
        var pendingByteCount: Int
        var isAnswered = false { didSet { if isAnswered { opening?.cancel() } } }
        var isCancelled = false

        /// Later messages wait until this task is cancelled.
        var opening: Task<Void, Never>?
    }

    let url: String
    let send: @Sendable (ForwardedRequest) async throws -> ForwardedResponse
    let limits: Limits
    private let output: @Sendable ([UInt8]) async -> Void
    private let say: @Sendable (String) -> Void

    var session: MCPServerSession?

    /// Whether the server responds 400 without an explanation also in a new session, so that the session is not the cause.
    var expectsBadRequests = false
    var renewal: Task<Void, any Error>?

    /// Ends when the response to `initialize` has arrived, or when `notifications/initialized` is delivered. Later messages
    /// wait for it, so that a client may send all of them at once.
    private var opening: Task<Void, Never>?
    var listener: Task<Void, Never>?

    /// How often in succession the listener had no valid token.
    var refusedListenerCount = 0
    var exchanges: [Int: Exchange] = [:]
    private var exchangeCount = 0
    private var waitingForEnd: [CheckedContinuation<Void, Never>] = []
    private var writeCount = 0
    private var isGraceOver = false
    var tools = MCPMirroredParameters()

    /// The protocol version that the last request named; `nil` before the first request of version 2026-07-28 or later.
    var modernVersion: String?
    private var lastSaid: String?

    /// - Parameters:
    ///   - url: The MCP endpoint.
    ///   - limits: The time limits.
    ///   - send: Sends a request with the token.
    ///   - write: Writes a line to the client, and returns when the client has room for another.
    ///   - say: Explains a problem to the user.
    init(
        url: String, limits: Limits = Limits(),
        send: @escaping @Sendable (ForwardedRequest) async throws -> ForwardedResponse,
        write: @escaping @Sendable ([UInt8]) async -> Void, say: @escaping @Sendable (String) -> Void
    ) {
        self.url = url
        self.limits = limits
        self.send = send
        output = write
        self.say = say
    }

    // MARK: From the client

    /// Accepts a message of the client. Returns when the bridge can accept another.
    func receive(_ line: MCPLines.Line) async { await receive(line, isElement: false) }

    private func receive(_ line: MCPLines.Line, isElement: Bool) async {
        let message: MCPMessage
        switch line {
        case .tooLong(let id):
            let error = AccountError(.tooLarge, "the message is longer than \(limits.messageByteCount >> 20) MiB")
            guard let id else { return await refuse(.notMessage, error.message) }
            return await answer(error, id)
        case .message(let line):
            let bytes = line.withoutByteOrderMark
            // A client of revision 2025-03-26 may send several messages in an array.
            if let batch = JSONText(bytes), batch.isArray, !isElement {
                var isEmpty = true
                for element in JSONText.Elements(of: batch) {
                    isEmpty = false
                    await receive(.message(Array(element.bytes)), isElement: true)
                }
                if !isEmpty { return }
            }
            do {
                message = try MCPMessage(bytes)
            } catch {
                return await refuse(error, error == .notJSON ? "the message is not JSON" : "not a JSON-RPC message")
            }
        }
        if message.cancelledID != nil, consume(message) { return }
        if let id = message.requestID, requestCount >= Self.maximumRequestCount {
            let error = AccountError(.busy, "\(requestCount) requests wait for a response", hint: "try again later")
            return await answer(error, id)
        }
        let count = message.text.bytes.count
        if message.cancelledID == nil, pendingByteCount > 0,
            pendingByteCount + count > Self.maximumPendingByteCount
        {
            let problem = "\(url) does not accept the messages of the client"
            guard let id = message.requestID else { return explain("\(problem), so further ones are dropped") }
            return await answer(AccountError(.busy, problem, hint: "try again later"), id)
        }
        start(message)
    }

    private var requestCount: Int { exchanges.values.count { $0.id != nil && !$0.isAnswered && !$0.isCancelled } }

    private var pendingByteCount: Int { exchanges.values.reduce(0) { $0 + $1.pendingByteCount } }

    private func start(_ message: MCPMessage) {
        exchangeCount += 1
        let number = exchangeCount
        let version = message.version
        if let version { modernVersion = version }
        let method = message.method
        exchanges[number] = Exchange(
            id: message.requestID, isModern: version != nil, isSubscription: method == "subscriptions/listen",
            pendingByteCount: message.text.bytes.count)
        let earlier = opening
        let task = Task {
            await earlier?.value
            await run(message, number)
        }
        exchanges[number]?.task = task
        guard method == "initialize" || method == "notifications/initialized" else { return }
        // A server that does not accept the notification must not stop the client for longer.
        let limit = method == "initialize" ? nil : limits.opening
        let opening = Task {
            await earlier?.value
            // Sleeping also ends if it is cancelled.
            repeat { _ = try? await Task.sleep(for: limit ?? .seconds(3600)) } while limit == nil && !Task.isCancelled
        }
        exchanges[number]?.opening = opening
        self.opening = opening
    }

    private func run(_ message: MCPMessage, _ number: Int) async {
        do {
            try await exchange(message, number)
        } catch {
            let isOver = exchanges[number].map { $0.isAnswered || $0.isCancelled } ?? true
            if !isOver {
                let error = error as? AccountError ?? AccountError(lost: url)
                if let id = message.requestID { await answer(error, id) }
                explain(error.userText)
            }
        }
        exchanges[number]?.opening?.cancel()
        exchanges[number] = nil
        proceed()
    }

    /// Handles a cancellation of a request that the connection expresses by its end. Returns whether the server must not
    /// get the message.
    ///
    /// Source: Model Context Protocol 2026-07-28, "Cancellation", section "Transport-Specific Cancellation".
    private func consume(_ message: MCPMessage) -> Bool {
        let found = exchanges.first { $0.value.id == message.cancelledID && !$0.value.isAnswered }
        guard let (number, exchange) = found else { return session == nil && modernVersion != nil }
        if exchange.isModern {
            cancel(number)
            return true
        }
        // Earlier servers end the stream themselves. Don't keep it if they don't.
        Task {
            try? await Task.sleep(for: .seconds(10))
            if exchanges[number]?.id == message.cancelledID { cancel(number) }
        }
        return false
    }

    func cancel(_ number: Int) {
        exchanges[number]?.isCancelled = true
        exchanges[number]?.task?.cancel()
    }

    // MARK: To the client

    func write(_ line: [UInt8]) async {
        writeCount += 1
        await output(line)
        writeCount -= 1
        proceed()
    }

    // MARK: Errors

    private func answer(_ error: AccountError, _ id: MCPRequestID) async {
        await write(JSONText(error: "\(CommandLine.toolName): \(error.userText)", error, of: id).line)
    }

    private func refuse(_ flaw: MCPMessage.Flaw, _ problem: String) async {
        let error = JSONText(members: [
            ("code", JSONText(integer: flaw.rawValue)), ("message", JSONText(string: problem)),
        ])
        let id = JSONText(Array("null".utf8)) ?? JSONText(string: "")
        await write(
            JSONText(members: [("jsonrpc", JSONText(string: "2.0")), ("id", id), ("error", error)]).line)
    }

    /// Explains a problem once, since a client may repeat a request often.
    func explain(_ text: String) {
        if text != lastSaid { say(text) }
        lastSaid = text
    }
}

// MARK: - The end

extension MCPBridge {
    /// Ends all requests and the session at the server.
    ///
    /// - Parameter grace: How long to wait for responses first.
    func finish(grace: Duration) async {
        if grace > .zero {
            let timer = Task {
                try? await Task.sleep(for: grace)
                endWaits()
            }
            // The process must not end in the middle of a line.
            while hasPendingRequests || writeCount > 0, !isGraceOver {
                await withCheckedContinuation { waitingForEnd.append($0) }
            }
            timer.cancel()
        }
        listener?.cancel()
        for number in exchanges.keys { cancel(number) }
        guard let session, session.id != nil else { return }
        self.session = nil
        var request = get(in: session)
        request.method = "DELETE"
        let end = request
        // The server ends the session itself later if this fails.
        _ = try? await withDeadline(.now + .milliseconds(1500)) { [send] in try await send(end).status }
    }

    private var hasPendingRequests: Bool {
        exchanges.values.contains { !$0.isSubscription && !$0.isAnswered && !$0.isCancelled }
    }

    private func endWaits() {
        isGraceOver = true
        for number in exchanges.keys { cancel(number) }
        proceed()
    }

    /// Lets calls continue that wait for responses.
    private func proceed() {
        let waiting = waitingForEnd
        waitingForEnd = []
        for continuation in waiting { continuation.resume() }
    }
}
