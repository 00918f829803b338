import Synchronization

/// Responds to the browser's requests, and yields the first response from the service that contains the correct
/// `state`. A later request for the result page waits until the result is known. A browser may send the same response again,
/// for example after a reload; it gets the same result.
final class RedirectReceiver: Sendable {
    enum Response: Sendable, Equatable {
        case page(ResultPage)
        case redirect(to: String)
    }

    private enum State {
        case waiting(state: String)
        case accepted(Accepted, isAwaited: Bool, waiting: [@Sendable (Response) -> Void])
        case finished(ResultPage, Accepted?)
    }

    /// The response that was accepted, and the state of the sign-in.
    private struct Accepted {
        let response: AuthorizationResponse
        let state: String

        func isSame(as other: AuthorizationResponse) -> Bool { other.answers(state) && other == response }
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
            switch accept(response, isAwaited: true) {
            case .accepted, .repeated: respond(.redirect(to: resultPath))
            case .wrongState: respond(.page(.wrongState))
            case .usedBefore: respond(.page(.usedBefore))
            }
        case .result:
            if let page = result(orLater: respond) { respond(page) }
        }
    }

    enum Acceptance { case accepted, repeated, wrongState, usedBefore }

    /// - Parameter isAwaited: Whether a browser waits for a page. If the user pasted the URL, none does.
    func accept(_ response: AuthorizationResponse, isAwaited: Bool) -> Acceptance {
        let acceptance: Acceptance = state.withLock { state in
            switch state {
            case .waiting(let expected):
                guard response.answers(expected) else { return .wrongState }
                state = .accepted(Accepted(response: response, state: expected), isAwaited: isAwaited, waiting: [])
                return .accepted
            case .accepted(let accepted, let wasAwaited, let waiting):
                guard accepted.isSame(as: response) else { return .usedBefore }
                state = .accepted(accepted, isAwaited: wasAwaited || isAwaited, waiting: waiting)
                return .repeated
            case .finished(_, let accepted): return accepted?.isSame(as: response) == true ? .repeated : .usedBefore
            }
        }
        if acceptance == .accepted { self.response.yield(response) }
        return acceptance
    }

    private func result(orLater response: @escaping @Sendable (Response) -> Void) -> Response? {
        state.withLock { state in
            switch state {
            case .waiting: return .page(.notFound)
            case .accepted(_, isAwaited: false, _): return .page(.notFound)
            case .accepted(let accepted, let isAwaited, let waiting):
                state = .accepted(accepted, isAwaited: isAwaited, waiting: waiting + [response])
                return nil
            case .finished(let page, _): return .page(page)
            }
        }
    }

    /// Sets the result page. From then on, the receiver accepts no response. Returns whether the receiver has
    /// redirected a browser to the page.
    @discardableResult
    func finish(with page: ResultPage) -> Bool {
        let (isAwaited, waiting): (Bool, [@Sendable (Response) -> Void]) = state.withLock { state in
            guard case .accepted(let accepted, let isAwaited, let waiting) = state else {
                state = .finished(page, nil)
                return (false, [])
            }
            state = .finished(page, accepted)
            return (isAwaited, waiting)
        }
        response.finish()
        for response in waiting { response(.page(page)) }
        return isAwaited
    }

    func didDeliver(_ response: Response) {
        let isResult = state.withLock { state in
            if case .finished(let page, _) = state { response == .page(page) } else { false }
        }
        if isResult { delivery.yield() }
    }
}
