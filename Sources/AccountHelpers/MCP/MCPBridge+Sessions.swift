import AccountCommands
import AccountKit
import AccountSupport

// MARK: - Sessions of servers before 2026-07-28

extension MCPBridge {
    /// Begins a new session after the server has forgotten one, for example in a restart.
    ///
    /// Source: Model Context Protocol 2025-06-18, "Transports", section "Session Management".
    func renew(insteadOf old: String) async throws {
        if let renewal { return try await renewal.value }
        guard let session, session.id == old else { return }
        let task: Task<Void, any Error> = Task {
            do {
                try await begin(like: session)
            } catch {
                guard Task.isCancelled else { throw error }
                throw AccountError(
                    .serviceUnavailable, "\(url) has ended the session, and did not begin a new one in time",
                    hint: "try again")
            }
        }
        renewal = task
        // Requests that wait for the new session ignore their own cancellation.
        let limit = limits.renewal
        let timer = Task {
            _ = try? await Task.sleep(for: limit)
            task.cancel()
        }
        defer {
            renewal = nil
            timer.cancel()
        }
        try await task.value
    }

    private func begin(like old: MCPServerSession) async throws {
        listener?.cancel()
        listener = nil
        refusedListenerCount = 0
        let request = old.beginning
        let response = try await send(post(request, in: nil))
        guard (200...299).contains(response.status) else { throw await response.refusal(by: url) }
        let message = try await response.response(to: request, upTo: limits.messageByteCount, from: url)
        guard let result = message.result, let new = MCPServerSession(beginning: request, result, response),
            new.version == old.version
        else {
            throw AccountError(
                .requestRefused, "\(url) has ended the session, and did not begin a new one",
                hint: "restart the MCP client")
        }
        let text = #"{"jsonrpc":"2.0","method":"notifications/initialized"}"#
        let accepted = try await send(post(try MCPMessage(Array(text.utf8)), in: new))
        // Some servers do not know the notification, and work without it.
        if [401, 403].contains(accepted.status) || accepted.status >= 500 {
            throw await accepted.refusal(by: url)
        }
        session = new
        explain("\(url) has ended the session, so a new one was begun")
        listen()
    }

    /// Opens the stream for messages of the server that answer no request.
    ///
    /// Source: Model Context Protocol 2025-06-18, "Transports", section "Listening for Messages from the Server".
    func listen() {
        guard let session, session.id != nil, listener == nil else { return }
        listener = Task { await forwardMessages(in: session) }
    }

    private func forwardMessages(in session: MCPServerSession) async {
        var parser = EventStreamParser(limit: limits.messageByteCount)
        var (failureCount, emptyCount) = (0, 0)
        while !Task.isCancelled {
            var begin: ContinuousClock.Instant?
            let start = parser.lastEventID
            var hasEvent = false
            do {
                let response = try await send(get(after: parser.lastEventID, in: session))
                // 405 and 501: the server sends no such messages. 404: it has ended the session.
                guard response.status == 200, response.mediaType == "text/event-stream" else {
                    if response.status < 500 && response.status != 429 || response.status == 501 { return }
                    throw await response.refusal(by: url)
                }
                refusedListenerCount = 0
                failureCount = 0
                begin = .now
                for try await piece in response.body {
                    for event in parser.events(in: piece) {
                        if Task.isCancelled { return }
                        hasEvent = true
                        switch event {
                        case .message(let data):
                            for message in MCPMessage.Batch(data) { await forward(message) }
                        case .tooLong: explain("\(AccountError(tooLongFrom: url, limits.messageByteCount))")
                        }
                    }
                }
            } catch let error as AccountError where error.requiresSignIn {
                // Each attempt may refresh the token. The requests of the client explain the problem.
                if !Task.isCancelled {
                    listener = nil
                    refusedListenerCount += 1
                }
                return
            } catch {
                failureCount += 1
            }
            // A server may end a stream at any time. If it does so at once, it sends no messages this way, and must not
            // receive a request each second.
            if let begin {
                let isEmpty = !hasEvent && parser.lastEventID == start
                emptyCount = isEmpty && ContinuousClock.now - begin < limits.shortestStream ? emptyCount + 1 : 0
            }
            parser.restart()
            // Cancellation ends the loop.
            try? await Task.sleep(
                for: max(
                    limits.pause(after: failureCount, longest: 30, requested: parser.retryMilliseconds),
                    limits.pause(after: emptyCount, longest: 300, requested: parser.retryMilliseconds)))
        }
    }

    /// Forwards a message from the stream that belongs to no request. Some servers send a response there.
    private func forward(_ message: MCPMessage) async {
        guard case .response(let id?) = message.kind,
            let (number, exchange) = exchanges.first(where: { entry in
                !entry.value.isAnswered && entry.value.id.map { id.matches($0) } == true
            }), let requestID = exchange.id
        else { return await write(message.line) }
        await deliver(message.text.setting("id", to: requestID.text), number, isFinal: true)
        endSoon(number)
    }
}

// MARK: - The tools of a server

extension MCPBridge {
    /// Reads the definitions of the tools again, with the metadata of a call.
    ///
    /// Source: Model Context Protocol 2026-07-28, "Streamable HTTP", section "Client Behavior".
    func listTools(like call: MCPMessage) async throws {
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
            guard (200...299).contains(response.status) else { throw await response.refusal(by: url) }
            let message = try await response.response(to: request, upTo: limits.messageByteCount, from: url)
            guard let result = message.result else { return }
            _ = tools.learn(from: result)
            guard let next = result["nextCursor"], next.string != nil else { return }
            cursor = next
        }
    }
}
