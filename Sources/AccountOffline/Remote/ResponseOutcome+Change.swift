#if Offline
import AccountKit
import AccountSupport
import HTTPTypes

extension ResponseOutcome {
    /// - Parameter change: The kind of the change, or `nil` for a request that only checks the state of an item.
    init(of change: ChangeKind?, _ head: HTTPResponse, _ body: Data, answer: RemoteAnswer, at date: Date) {
        self.init(
            status: head.status.code, body: body, answer: Answer(answer), at: date,
            missing: { words in
                switch change {
                case nil: .unknown(words, wait: nil)
                // If the item of a deletion is missing, the service has already removed it.
                case .delete?: .done
                case .create?: .refused(words)
                default: .conflict("it no longer exists (\(words))")
                }
            },
            fields: { name in HTTPField.Name(name).map { head.headerFields[values: $0] } ?? [] })
        // A response with data that nothing can be done with does not say that the change was applied.
        if change == nil, self == .done { self = .unknown("an unexpected response (\(head.status.code))", wait: nil) }
    }

    /// Interprets an error.
    ///
    /// - Parameters:
    ///   - error: The error.
    ///   - remote: The adapter, which recognizes the response in a ``RemoteFailure``.
    init(_ error: any Error, from remote: some RemoteCollection, at date: Date) {
        if let failure = error as? RemoteFailure {
            let answer = remote.answer(failure.head, failure.body, to: nil)
            self.init(of: nil, failure.head, failure.body, answer: answer, at: date)
            return
        }
        guard let error = error as? AccountError else {
            if let error = error as? AuthorityError, error.wasCertainlyNotCarriedOut {
                self = .later(error.userText, wait: nil)
            } else {
                let reason = error.userReason.map { " (\($0))" } ?? ""
                self = .unknown(
                    error is CancellationError ? "cancelled" : "the response cannot be read\(reason)", wait: nil)
            }
            return
        }
        switch error.code {
        case .notSignedIn, .renewalRefused, .conflict, .stepUpRequired: self = .signIn(error.message)
        // No attempt can send this change.
        case .insufficientScope, .invalidArgument: self = .refused(error.message)
        default:
            self =
                error.mayHaveBeenSent
                ? .unknown(error.offline.message, wait: nil) : .later(error.offline.message, wait: nil)
        }
    }
}
#endif
