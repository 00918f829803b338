import AccountCommands
import AccountKit
import AccountSupport

// MARK: - To the server

extension MCPBridge {
    func exchange(_ message: MCPMessage, _ number: Int) async throws {
        var isRepeated = false
        while true {
            let session = message.version == nil && message.method != "initialize" ? session : nil
            let response = try await send(post(message, in: session))
            exchanges[number]?.pendingByteCount = 0
            if (200...299).contains(response.status) {
                // Another request may have begun a new session since then.
                if let session, session.id == self.session?.id { self.session = session.renamed(by: response) }
                // The user may have signed in again. Limit the attempts, since each may refresh the token.
                if 1...3 ~= refusedListenerCount { listen() }
                return try await accept(response, to: message, number)
            }
            let body = try await response.collected(upTo: 1 << 20, from: url)
            if let old = session?.id, response.refusesSession(body) {
                let isNamed = response.status != 400 || response.namesSession(body)
                // The server has just begun the session that the client announces as ready.
                let mayBeLost = !expectsBadRequests && message.method != "notifications/initialized"
                if !isRepeated, isNamed || mayBeLost {
                    isRepeated = true
                    try await renew(insteadOf: old)
                    continue
                }
                if isRepeated, !isNamed { expectsBadRequests = true }
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
                throw AccountError(refusal: response, saying: response.explanation(in: body), by: url)
            }
            let text = JSONText(members: [("jsonrpc", JSONText(string: "2.0")), ("id", id.text), ("error", error)])
            return await deliver(text, number, isFinal: true)
        }
    }

    func post(_ message: MCPMessage, in session: MCPServerSession?) -> ForwardedRequest {
        var fields = ["Content-Type": "application/json", "Accept": "application/json, text/event-stream"]
        fields.merge(message.fields(of: session.map { ($0.id, $0.version) }, modernVersion)) { $1 }
        if message.version != nil, message.method == "tools/call", let params = message.params {
            fields.merge(tools.fields(of: params)) { own, _ in own }
        }
        return ForwardedRequest(method: "POST", url: url, fields: fields, body: [UInt8](message.text.bytes))
    }

    func get(after eventID: String? = nil, in session: MCPServerSession) -> ForwardedRequest {
        var fields = ["Accept": "text/event-stream", "MCP-Protocol-Version": session.version]
        fields["Mcp-Session-Id"] = session.id
        fields["Last-Event-ID"] = eventID
        return ForwardedRequest(method: "GET", url: url, fields: fields)
    }
}

// MARK: - From the server

extension MCPBridge {
    private func accept(_ response: ForwardedResponse, to message: MCPMessage, _ number: Int) async throws {
        guard message.requestID != nil else {
            exchanges[number]?.isAnswered = true
            if message.method == "notifications/initialized" { listen() }
            // Reading the rest lets the connection serve the next request. Its content has no meaning.
            endSoon(number)
            _ = try? await response.collected(upTo: 1 << 16, from: url)
            return
        }
        if response.mediaType == "text/event-stream" {
            return try await forwardEvents(of: response, to: message, number)
        }
        try await deliverWhole(
            try await response.collected(upTo: limits.messageByteCount, from: url), of: response, to: message, number)
    }

    /// Forwards the messages of a complete body, which must contain the response. The body decides, not its label: some
    /// servers label JSON as text, or as a stream, and a stream as JSON.
    private func deliverWhole(
        _ body: [UInt8], of response: ForwardedResponse, to request: MCPMessage, _ number: Int
    ) async throws {
        var outcome = await forward(body, of: response, to: request, number)
        if outcome == nil, !body.beginsLikeJSON {
            var parser = EventStreamParser(limit: limits.messageByteCount)
            for piece in [body, [0x0A, 0x0A]] where outcome != true {
                for case .message(let data) in parser.events(in: piece) where outcome != true {
                    outcome = await forward(data, of: response, to: request, number) ?? outcome
                }
            }
        }
        if outcome == true { return }
        if response.isWebPage(body) { throw AccountError(interceptedBy: response, at: url) }
        guard outcome == nil else { throw AccountError(.requestRefused, "\(url) sent no response to the request") }
        if body.isEmpty || response.mediaType != "application/json" {
            let what = body.isEmpty ? "no message" : response.shown(response.mediaType) ?? "no message"
            throw AccountError(.requestRefused, "\(url) responded with \(what) instead of a message")
        }
        throw AccountError(.requestRefused, "\(url) sent text that is not a JSON-RPC message")
    }

    /// Forwards the messages in a text up to the response. Returns whether it contains the response; `nil` if it contains
    /// no message.
    private func forward(
        _ bytes: [UInt8], of response: ForwardedResponse, to request: MCPMessage, _ number: Int
    ) async -> Bool? {
        var outcome: Bool?
        for message in MCPMessage.Batch(bytes) {
            if await deliver(message, of: response, to: request, number) { return true }
            outcome = false
        }
        return outcome
    }

    private struct TooLong: Error {}

    /// Forwards the messages of a stream up to the response. If the connection breaks, the stream is resumed where the
    /// server supports this (Model Context Protocol 2025-06-18, "Transports", section "Resumability and Redelivery").
    /// Events that are no messages, such as heartbeats, are skipped.
    private func forwardEvents(
        of first: ForwardedResponse, to request: MCPMessage, _ number: Int
    ) async throws {
        var response: ForwardedResponse? = first
        var parser = EventStreamParser(limit: limits.messageByteCount)
        var attempts = 0
        // A body that is labelled as a stream, and is JSON. No line of a stream begins like JSON.
        var document: [UInt8]?
        var isUndecided = true
        while true {
            if let part = response {
                let start = parser.lastEventID
                do {
                    for try await piece in part.body {
                        if isUndecided, piece.hasContent {
                            isUndecided = false
                            if piece.beginsLikeJSON { document = [] }
                        }
                        if let count = document?.count {
                            guard count + piece.count <= limits.messageByteCount else { throw TooLong() }
                            document? += piece
                            continue
                        }
                        for event in parser.events(in: piece) {
                            attempts = 0
                            if exchanges[number]?.isAnswered == true { continue }
                            // It is probably the response, and the server may send nothing else.
                            guard case .message(let data) = event else { throw TooLong() }
                            if await forward(data, of: first, to: request, number) == true { endSoon(number) }
                        }
                    }
                } catch is TooLong {
                    throw AccountError(tooLongFrom: url, limits.messageByteCount)
                } catch {
                    try Task.checkCancellation()
                    document = nil
                }
                if parser.lastEventID != start { attempts = 0 }
            }
            if exchanges[number]?.isAnswered == true { return }
            try Task.checkCancellation()
            // Some servers end the stream without the empty line that ends its last event.
            var rest = parser
            for case .message(let data) in rest.events(in: [0x0A, 0x0A]) {
                for message in MCPMessage.Batch(data) where message.answers(request) {
                    _ = await deliver(message, of: first, to: request, number)
                    return
                }
            }
            if let document { return try await deliverWhole(document, of: first, to: request, number) }
            guard request.version == nil, let session, let eventID = parser.lastEventID, attempts < 5 else {
                throw AccountError(lost: url)
            }
            attempts += 1
            try await Task.sleep(for: limits.pause(requested: parser.retryMilliseconds))
            parser.restart()
            response = try await resume(after: eventID, in: session)
        }
    }

    /// Returns the rest of a stream, or `nil` if the server does not respond at the moment.
    private func resume(after eventID: String, in session: MCPServerSession) async throws -> ForwardedResponse? {
        let response: ForwardedResponse
        do {
            response = try await send(get(after: eventID, in: session))
        } catch {
            try Task.checkCancellation()
            guard let error = error as? AccountError else { return nil }
            guard error.code == .serviceUnavailable || error.code == .requestRefused else { throw error }
            return nil
        }
        if response.status == 200, response.mediaType == "text/event-stream" { return response }
        guard response.status >= 500 || response.status == 429 else { throw AccountError(lost: url) }
        return nil
    }

    /// Gives the server a moment to end an answered stream, so that its connection can be used again.
    func endSoon(_ number: Int) {
        Task {
            try? await Task.sleep(for: .seconds(2))
            exchanges[number]?.task?.cancel()
        }
    }

    /// Forwards a message from the response to a request. Returns whether it answers the request.
    private func deliver(
        _ message: MCPMessage, of response: ForwardedResponse, to request: MCPMessage, _ number: Int
    ) async -> Bool {
        guard case .response(let id) = message.kind else {
            await deliver(message.text, number)
            return false
        }
        guard message.answers(request) else {
            // The response to one request that has lost its id.
            if id == nil, let whole = message.withID(of: request) {
                await deliver(remember(whole, of: response, to: request), number, isFinal: true)
                return true
            }
            explain("\(url) sent a response to another request, which is not passed on")
            return false
        }
        await deliver(remember(message.answering(request), of: response, to: request), number, isFinal: true)
        return true
    }

    /// Takes from a response what later requests need. Returns the response for the client.
    private func remember(
        _ message: MCPMessage, of response: ForwardedResponse, to request: MCPMessage
    ) -> JSONText {
        guard let result = message.result else { return message.text }
        if request.method == "initialize" {
            listener?.cancel()
            listener = nil
            refusedListenerCount = 0
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

    func deliver(_ text: JSONText, _ number: Int, isFinal: Bool = false) async {
        guard exchanges[number]?.isCancelled == false else { return }
        // Mark it first: the client may reuse the id as soon as it has the response.
        if isFinal { exchanges[number]?.isAnswered = true }
        await write(text.line)
    }
}
