import AccountCommands
import AccountKit
import AccountSupport

/// Forwards the messages of an MCP client to a server, and the server's messages to the client.
///
/// The client speaks the stdio transport, and the server Streamable HTTP. Both are either of revision 2026-07-28, where
/// each request names its version, or earlier, where `initialize` begins a session. The bridge forwards messages
/// unchanged, except for responses to `tools/list` (see ``MCPMirroredParameters``) and the ids of errors without one.
///
/// Source: Model Context Protocol 2026-07-28, "stdio" and "Streamable HTTP"; 2025-06-18, "Transports".
actor MCPBridge {
    /// The longest message, in bytes.
    static let maximumByteCount = 64 << 20

    /// The requests that wait for a response at a time. Further ones are refused, so that the client can still cancel.
    static let maximumRequestCount = 256

    /// The bytes of messages that the server has not taken. Above it, the bridge reads no further message.
    static let maximumPendingByteCount = 64 << 20

    private struct Exchange {
        let id: MCPRequestID?

        /// Whether the request is of revision 2026-07-28 or later.
        let isModern: Bool

        /// Whether the response is a stream without an end.
        let isSubscription: Bool
        var task: Task<Void, Never>?
        var pendingByteCount: Int
        var isAnswered = false
        var isCancelled = false
    }

    let url: String
    private let send: @Sendable (ForwardedRequest) async throws -> ForwardedResponse
    private let write: @Sendable ([UInt8]) async -> Void
    private let say: @Sendable (String) -> Void

    private var session: MCPServerSession?
    private var renewal: Task<Void, any Error>?

    /// The delivery of `notifications/initialized`, for which later messages wait.
    private var opening: Task<Void, Never>?
    private var listener: Task<Void, Never>?
    private var exchanges: [Int: Exchange] = [:]
    private var exchangeCount = 0
    private var waitingForRoom: [CheckedContinuation<Void, Never>] = []
    private var waitingForEnd: [CheckedContinuation<Void, Never>] = []
    private var tools = MCPMirroredParameters()

    /// The last version in a request of revision 2026-07-28 or later.
    private var modernVersion: String?
    private var lastSaid: String?

    /// - Parameters:
    ///   - url: The MCP endpoint.
    ///   - send: Sends a request with the token.
    ///   - write: Writes a line to the client, and returns when the client has room for another.
    ///   - say: Explains a problem to the user.
    init(
        url: String, send: @escaping @Sendable (ForwardedRequest) async throws -> ForwardedResponse,
        write: @escaping @Sendable ([UInt8]) async -> Void, say: @escaping @Sendable (String) -> Void
    ) {
        self.url = url
        self.send = send
        self.write = write
        self.say = say
    }

    // MARK: From the client

    /// Accepts a message of the client. Returns when the bridge can accept another.
    func receive(_ line: MCPLines.Line) async {
        let message: MCPMessage
        switch line {
        case .tooLong:
            return await refuse(.notMessage, "the message is longer than \(Self.maximumByteCount >> 20) MiB")
        case .message(let bytes):
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
        while pendingByteCount > 0, pendingByteCount + count > Self.maximumPendingByteCount {
            await withCheckedContinuation { waitingForRoom.append($0) }
        }
        start(message)
    }

    private var requestCount: Int { exchanges.values.count { $0.id != nil && !$0.isAnswered } }

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
        if method == "notifications/initialized" {
            // A server that does not respond must not stop the client for longer.
            opening = Task { _ = try? await withDeadline(.now + .seconds(10)) { await task.value } }
        }
    }

    private func run(_ message: MCPMessage, _ number: Int) async {
        do {
            try await exchange(message, number)
        } catch {
            let isOver = exchanges[number].map { $0.isAnswered || $0.isCancelled } ?? true
            if !isOver {
                let error = error as? AccountError ?? AccountError(lost: url)
                if let id = message.requestID { await answer(error, id) }
                explain("\(error)")
            }
        }
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

    private func cancel(_ number: Int) {
        exchanges[number]?.isCancelled = true
        exchanges[number]?.task?.cancel()
    }

    // MARK: To the server

    private func exchange(_ message: MCPMessage, _ number: Int) async throws {
        var isRepeated = false
        while true {
            let session = message.version == nil && message.method != "initialize" ? session : nil
            let response = try await send(post(message, in: session))
            exchanges[number]?.pendingByteCount = 0
            proceed()
            if (200...299).contains(response.status) {
                return try await accept(response, to: message, number)
            }
            let body = try await response.collected(upTo: 1 << 20)
            if response.status == 404, let old = session?.id, !isRepeated {
                isRepeated = true
                try await renew(insteadOf: old)
                continue
            }
            let error = JSONText(body).flatMap { $0["error"] }.flatMap { $0["code"]?.isNumber == true ? $0 : nil }
            // The header fields were those of an earlier definition of the tool.
            if response.status == 400, let code = error?["code"], MCPFieldValue.text(of: code) == "-32020",
                message.version != nil, message.method == "tools/call", !isRepeated
            {
                isRepeated = true
                try await listTools(like: message)
                continue
            }
            guard let id = message.requestID, let error, response.status != 401, response.status != 403 else {
                throw AccountError(refusal: response, by: url)
            }
            let text = JSONText(members: [("jsonrpc", JSONText(string: "2.0")), ("id", id.text), ("error", error)])
            return await deliver(text, number, isFinal: true)
        }
    }

    private func post(_ message: MCPMessage, in session: MCPServerSession?) -> ForwardedRequest {
        var fields = ["Content-Type": "application/json", "Accept": "application/json, text/event-stream"]
        fields.merge(message.fields(of: session.map { ($0.id, $0.version) }, modernVersion)) { $1 }
        if message.version != nil, message.method == "tools/call", let params = message.params {
            fields.merge(tools.fields(of: params)) { own, _ in own }
        }
        return ForwardedRequest(method: "POST", url: url, fields: fields, body: [UInt8](message.text.bytes))
    }

    private func get(after eventID: String? = nil, in session: MCPServerSession) -> ForwardedRequest {
        var fields = ["Accept": "text/event-stream", "MCP-Protocol-Version": session.version]
        fields["Mcp-Session-Id"] = session.id
        fields["Last-Event-ID"] = eventID
        return ForwardedRequest(method: "GET", url: url, fields: fields)
    }

    // MARK: From the server

    private func accept(_ response: ForwardedResponse, to message: MCPMessage, _ number: Int) async throws {
        guard message.requestID != nil else {
            if message.method == "notifications/initialized" { listen() }
            // Reading the rest lets the connection serve the next request.
            _ = try await response.collected(upTo: 1 << 16)
            return
        }
        switch response.mediaType {
        case "application/json":
            let body = try await response.collected(upTo: Self.maximumByteCount)
            guard try await deliver(body, of: response, to: message, number) else {
                throw AccountError(.requestFailed, "\(url) sent no response to the request")
            }
        case "text/event-stream": try await forwardEvents(of: response, to: message, number)
        case let type:
            let what = response.status == 202 || type.isEmpty ? "no message" : type.shown
            throw AccountError(.requestFailed, "\(url) responded with \(what) instead of a message")
        }
    }

    /// Forwards the messages of a stream up to the response. If the connection breaks, the stream is resumed where the
    /// server supports this (Model Context Protocol 2025-06-18, "Transports", section "Resumability and Redelivery").
    private func forwardEvents(
        of first: ForwardedResponse, to message: MCPMessage, _ number: Int
    ) async throws {
        var response = first
        var parser = EventStreamParser(limit: Self.maximumByteCount)
        var attempts = 0
        while true {
            do {
                for try await piece in response.body {
                    for event in try parser.events(in: piece) {
                        attempts = 0
                        if exchanges[number]?.isAnswered == true { continue }
                        if try await deliver(event.data, of: first, to: message, number) { endSoon(number) }
                    }
                }
            } catch is EventStreamParser.TooLong {
                throw AccountError(tooLongFrom: url)
            } catch {
                try Task.checkCancellation()
            }
            if exchanges[number]?.isAnswered == true { return }
            try Task.checkCancellation()
            guard message.version == nil, let session, let eventID = parser.lastEventID, attempts < 5 else {
                throw AccountError(lost: url)
            }
            attempts += 1
            try await Task.sleep(for: .milliseconds(min(parser.retryMilliseconds ?? 1000, 60_000)))
            parser.restart()
            response = try await send(get(after: eventID, in: session))
            guard response.status == 200, response.mediaType == "text/event-stream" else {
                throw AccountError(lost: url)
            }
        }
    }

    /// Gives the server a moment to end an answered stream, so that its connection can be used again.
    private func endSoon(_ number: Int) {
        Task {
            try? await Task.sleep(for: .seconds(2))
            exchanges[number]?.task?.cancel()
        }
    }

    /// Forwards a message from the response to a request. Returns whether it answers the request.
    private func deliver(
        _ bytes: [UInt8], of response: ForwardedResponse, to request: MCPMessage, _ number: Int
    ) async throws -> Bool {
        let message: MCPMessage
        do {
            message = try MCPMessage(bytes)
        } catch {
            throw AccountError(.requestFailed, "\(url) sent text that is not a JSON-RPC message")
        }
        guard case .response(let id) = message.kind else {
            await deliver(message.text, number)
            return false
        }
        guard id == request.requestID else {
            if id == nil, let id = request.requestID, let error = message["error"] {
                let text = JSONText(members: [("jsonrpc", JSONText(string: "2.0")), ("id", id.text), ("error", error)])
                await deliver(text, number, isFinal: true)
                return true
            }
            explain("\(url) sent a response to another request, which is not passed on")
            return false
        }
        await deliver(remember(message, of: response, to: request), number, isFinal: true)
        return true
    }

    /// Takes from a response what later requests need. Returns the response for the client.
    private func remember(
        _ message: MCPMessage, of response: ForwardedResponse, to request: MCPMessage
    ) -> JSONText {
        guard let result = message["result"] else { return message.text }
        if request.method == "initialize" {
            session = MCPServerSession(beginning: request, result, response)
        } else if request.method == "tools/list", request.version != nil {
            let (changed, rejections) = tools.learn(from: result)
            for rejection in rejections {
                explain("the tool \(rejection.tool.shown) of \(url) is left out: \(rejection.reason)")
            }
            if let changed { return message.text.setting("result", to: changed) }
        }
        return message.text
    }

    private func deliver(_ text: JSONText, _ number: Int, isFinal: Bool = false) async {
        guard exchanges[number]?.isCancelled == false else { return }
        // Mark it first: the client may reuse the id as soon as it has the response.
        if isFinal { exchanges[number]?.isAnswered = true }
        await write(text.line)
    }

    // MARK: Errors

    private func answer(_ error: AccountError, _ id: MCPRequestID) async {
        await write(JSONText(error: "\(CommandLine.toolName): \(error)", error, of: id).line)
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
    private func explain(_ text: String) {
        if text != lastSaid { say(text) }
        lastSaid = text
    }
}

// MARK: - Sessions of servers before 2026-07-28

extension MCPBridge {
    /// Begins a new session after the server has forgotten one, for example in a restart.
    ///
    /// Source: Model Context Protocol 2025-06-18, "Transports", section "Session Management".
    private func renew(insteadOf old: String) async throws {
        if let renewal { return try await renewal.value }
        guard let session, session.id == old else { return }
        let task = Task { try await begin(like: session) }
        renewal = task
        defer { renewal = nil }
        try await task.value
    }

    private func begin(like old: MCPServerSession) async throws {
        listener?.cancel()
        listener = nil
        let request = old.beginning
        let response = try await send(post(request, in: nil))
        guard (200...299).contains(response.status) else { throw AccountError(refusal: response, by: url) }
        let message = try await response.response(to: request, from: url)
        guard let result = message["result"], let new = MCPServerSession(beginning: request, result, response),
            new.version == old.version
        else {
            throw AccountError(
                .requestFailed, "\(url) has ended the session, and did not begin a new one",
                hint: "restart the MCP client")
        }
        session = new
        let text = #"{"jsonrpc":"2.0","method":"notifications/initialized"}"#
        _ = try await send(post(try MCPMessage(Array(text.utf8)), in: new))
        explain("\(url) has ended the session, so a new one was begun")
        listen()
    }

    /// Opens the stream for messages of the server that answer no request.
    ///
    /// Source: Model Context Protocol 2025-06-18, "Transports", section "Listening for Messages from the Server".
    private func listen() {
        guard let session, session.id != nil, listener == nil else { return }
        listener = Task { await forwardMessages(in: session) }
    }

    private func forwardMessages(in session: MCPServerSession) async {
        var parser = EventStreamParser(limit: Self.maximumByteCount)
        let pauses = BackOff(first: 1, longest: 30)
        var failureCount = 0
        while !Task.isCancelled {
            do {
                let response = try await send(get(after: parser.lastEventID, in: session))
                // 405: the server sends no such messages. 404: it has ended the session.
                guard response.status == 200, response.mediaType == "text/event-stream" else {
                    if response.status < 500, response.status != 429 { return }
                    throw AccountError(refusal: response, by: url)
                }
                failureCount = 0
                for try await piece in response.body {
                    for event in try parser.events(in: piece) {
                        if Task.isCancelled { return }
                        if let message = try? MCPMessage(event.data) { await write(message.line) }
                    }
                }
            } catch is EventStreamParser.TooLong {
                return explain("\(AccountError(tooLongFrom: url))")
            } catch {
                failureCount += 1
            }
            parser.restart()
            let pause = failureCount > 0 ? pauses.pause(after: failureCount) : 0
            let requested = Double(min(parser.retryMilliseconds ?? 1000, 60_000)) / 1000
            // Cancellation ends the loop.
            try? await Task.sleep(for: .seconds(max(pause, requested)))
        }
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
            while hasPendingRequests, !timer.isCancelled {
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
        for number in exchanges.keys { cancel(number) }
        proceed()
    }

    /// Lets calls continue that wait for room or for responses.
    private func proceed() {
        let waiting = waitingForRoom + waitingForEnd
        waitingForRoom = []
        waitingForEnd = []
        for continuation in waiting { continuation.resume() }
    }
}

// MARK: - The tools of a server

extension MCPBridge {
    /// Reads the definitions of the tools again, with the metadata of a call.
    ///
    /// Source: Model Context Protocol 2026-07-28, "Streamable HTTP", section "Client Behavior".
    private func listTools(like call: MCPMessage) async throws {
        guard let meta = call.params?["_meta"] else { return }
        var cursor: JSONText?
        for page in 1...32 {
            var params: [(String, JSONText)] = [("_meta", meta)]
            if let cursor { params.append(("cursor", cursor)) }
            let text = JSONText(members: [
                ("jsonrpc", JSONText(string: "2.0")), ("id", JSONText(string: "account-tools-\(page)")),
                ("method", JSONText(string: "tools/list")), ("params", JSONText(members: params)),
            ])
            let request = try MCPMessage(text)
            let response = try await send(post(request, in: nil))
            guard (200...299).contains(response.status) else { throw AccountError(refusal: response, by: url) }
            guard let result = try await response.response(to: request, from: url)["result"] else { return }
            _ = tools.learn(from: result)
            guard let next = result["nextCursor"], next.string != nil else { return }
            cursor = next
        }
    }
}
