import AccountKit

/// A request that has begun. For a token request, the connection is open, and the body waits until the caller releases
/// it.
final class PreparedRequest: Sendable {
    /// The request, with its proof if it has one.
    let request: ServiceRequest

    private let body: ExchangeBody?
    private let task: Task<Result<ServiceResponse, AuthorityError>, Never>
    private let cancellation: AsyncStream<Void>.Continuation

    init(
        _ request: ServiceRequest, body: ExchangeBody?, task: Task<Result<ServiceResponse, AuthorityError>, Never>,
        cancellation: AsyncStream<Void>.Continuation
    ) {
        self.request = request
        self.body = body
        self.task = task
        self.cancellation = cancellation
    }

    func connect() async {
        guard let body else { return }
        await withTaskCancellationHandler {
            for await _ in body.connecting { break }
            // A cancelled task does not receive the event, but its request ends soon.
            if Task.isCancelled { _ = await task.value }
        } onCancel: {
            cancellation.yield()
        }
    }

    func send(if mayBeSent: @escaping @Sendable () -> Bool) async throws(AuthorityError) -> ServiceResponse {
        body?.release(if: mayBeSent)
        let response = try await response()
        guard body?.isSent != false else {
            throw .notSent(.unclear("the service responded with status \(response.status) before the request was sent"))
        }
        return response
    }

    /// Abandons the request, unless its body was already sent.
    func abandon() {
        body?.giveUp()
        cancellation.yield()
    }

    func response() async throws(AuthorityError) -> ServiceResponse {
        let outcome = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            cancellation.yield()
        }
        return try outcome.get()
    }
}
