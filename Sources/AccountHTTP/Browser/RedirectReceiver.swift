import Synchronization

/// Responds to the browser's requests, and yields the first response from the service that contains the correct
/// `state`. A later request for the result page waits until the result is known.
final class RedirectReceiver: Sendable {
    enum Response: Sendable, Equatable {
        case page(ResultPage)
        case redirect(to: String)
    }

    private enum State {
        case waiting(state: String)
        case accepted(waiting: [@Sendable (Response) -> Void])
        /// The user pasted the URL, so no browser is waiting for a page.
        case pasted
        case finished(ResultPage)
    }

    /// Yields the response from the service once, or finishes without a response if the sign-in ends first.
    let responses: AsyncStream<AuthorizationResponse>

    let deliveries: AsyncStream<Void>

    private let response: AsyncStream<AuthorizationResponse>.Continuation
    private let delivery: AsyncStream<Void>.Continuation
    private let state: Mutex<State>

    private let callbackPath: String
    private let resultPath: String

    init(expecting state: String, at callbackPath: String = LoopbackRequest.callbackPath) {
        self.callbackPath = callbackPath
        resultPath = callbackPath == LoopbackRequest.resultPath ? "/signed-in" : LoopbackRequest.resultPath
        (responses, response) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
        (deliveries, delivery) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
        self.state = Mutex(.waiting(state: state))
    }

    /// Handles a request. Calls `respond` immediately, or later on another thread if the request is for the result page
    /// and the result is not known yet.
    func receive(_ request: LoopbackRequest, respond: @escaping @Sendable (Response) -> Void) {
        switch request.route(callback: callbackPath, result: resultPath) {
        case .malformed: respond(.page(.badRequest))
        case .unknown: respond(.page(.notFound))
        case .callback(let query):
            guard let response = AuthorizationResponse(query: query) else { return respond(.page(.badRequest)) }
            respond(accept(response))
        case .result:
            if let page = result(orLater: respond) { respond(page) }
        }
    }

    private func accept(_ response: AuthorizationResponse) -> Response {
        switch accept(response, as: .accepted(waiting: [])) {
        case .accepted: .redirect(to: resultPath)
        case .wrongState: .page(.wrongState)
        case .usedBefore: .page(.usedBefore)
        }
    }

    enum Acceptance { case accepted, wrongState, usedBefore }

    func acceptPasted(_ response: AuthorizationResponse) -> Acceptance { accept(response, as: .pasted) }

    private func accept(_ response: AuthorizationResponse, as accepted: State) -> Acceptance {
        let acceptance: Acceptance = state.withLock { state in
            guard case .waiting(let expected) = state else { return .usedBefore }
            guard response.answers(expected) else { return .wrongState }
            state = accepted
            return .accepted
        }
        if acceptance == .accepted { self.response.yield(response) }
        return acceptance
    }

    private func result(orLater response: @escaping @Sendable (Response) -> Void) -> Response? {
        state.withLock { state in
            switch state {
            case .waiting, .pasted: return .page(.notFound)
            case .accepted(let waiting):
                state = .accepted(waiting: waiting + [response])
                return nil
            case .finished(let page): return .page(page)
            }
        }
    }

    /// Sets the result page. From then on, the receiver accepts no response. Returns whether the receiver has
    /// redirected a browser to the page.
    @discardableResult
    func finish(with page: ResultPage) -> Bool {
        let waiting: [@Sendable (Response) -> Void]? = state.withLock { state in
            defer { state = .finished(page) }
            return if case .accepted(let waiting) = state { waiting } else { nil }
        }
        response.finish()
        for response in waiting ?? [] { response(.page(page)) }
        return waiting != nil
    }

    func didDeliver(_ response: Response) {
        let isResult = state.withLock { state in
            if case .finished(let page) = state { response == .page(page) } else { false }
        }
        if isResult { delivery.yield() }
    }
}
