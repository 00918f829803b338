#if Offline
import AccountKit
import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension ResponseOutcome {
    init(of change: ChangeKind, _ head: HTTPResponse, _ body: Data, at date: Date) {
        self.init(
            status: head.status.code, body: body, at: date,
            missing: { words in
                // If the item of a deletion is missing, the service has already removed it.
                switch change {
                case .delete: .done
                case .create: .refused(words)
                default: .conflict("it no longer exists (\(words))")
                }
            },
            field: { name in HTTPField.Name(name).flatMap { head.headerFields[$0] } })
    }

    init(_ error: any Error, of change: ChangeKind, at date: Date) {
        if let failure = error as? RemoteFailure {
            self.init(of: change, failure.head, failure.body, at: date)
            return
        }
        guard let error = error as? AccountError else {
            if let error = error as? AuthorityError, error.wasCertainlyNotCarriedOut {
                self = .later(error.userText, wait: nil)
            } else {
                let isCancelled = error is CancellationError
                self = .unknown(
                    isCancelled ? "cancelled" : "the response is not from this service (\(error.userText))", wait: nil)
            }
            return
        }
        switch error.code {
        case .notSignedIn, .renewalRefused, .conflict, .stepUpRequired: self = .signIn(error.message)
        case .insufficientScope: self = .refused(error.message)
        default:
            self =
                error.mayHaveBeenSent
                ? .unknown(error.offline.message, wait: nil) : .later(error.offline.message, wait: nil)
        }
    }
}
#endif
