#if Offline
import AccountKit
import AccountSupport
import HTTPTypes

/// The reachability of a service, according to the most recent requests.
public enum Connectivity: Sendable, Hashable {
    /// The last request received a response from the service.
    case online
    /// The state is unknown: the app has sent no request, a single request has failed or received a response from
    /// another server, or the last failures are too long ago.
    case uncertain(Problem?)
    /// Several requests in a row have failed.
    case offline(Problem)

    /// The reason why a request failed.
    public struct Problem: Sendable, Hashable {
        /// A description of the failure, for messages.
        public let description: String
    }
}

extension Connectivity.Problem {
    /// - Parameter isForeign: Whether the response does not have the form of the service.
    init?(_ head: HTTPResponse, isForeign: Bool) {
        switch head.status.code {
        case 511: self.init(description: "status 511: a captive portal?")
        // Gateways of the service respond to failures in their own form.
        case 500...599: self.init(description: "status \(head.status.code)")
        case let status where isForeign:
            self.init(description: "another server responded (status \(status)): a captive portal or a proxy?")
        default: return nil
        }
    }

    /// Returns whether a response contains another kind of data than the request accepts, although the request accepts
    /// only JSON.
    static func isForeign(_ head: HTTPResponse, _ body: Data, to request: HTTPRequest) -> Bool {
        let types = (request.headerFields[.accept] ?? "").split(separator: ",")
        guard !types.isEmpty, types.allSatisfy({ $0.contains("json") }) else { return false }
        if body.isEmpty { return head.headerFields[.contentType]?.hasPrefix("text/html") == true }
        return !RemoteAnswer.beginsLikeJSON(body) && !AnyJSON.isWhole(body)
    }

    init?(_ error: any Error) {
        let error = error as? AccountError
        guard let failure = error?.requestFailure ?? error?.cause as? AuthorityError else { return nil }
        self.init(failure)
    }

    private init?(_ failure: AuthorityError) {
        switch failure {
        case .notSent(let failure): self.init(failure)
        case .noResponse(let failure) where failure.kind == .cancelled: return nil
        case .noResponse(let failure): self.init(description: "\(failure)")
        case .untrustedTLS(let why): self.init(description: "the connection is not secure (\(why))")
        case .intercepted(let why): self.init(description: "another server responded (\(why))")
        case .proxyAuthenticationRequired: self.init(description: "the proxy requires credentials")
        case .unavailable(let status, _): self.init(description: "status \(status)")
        default: return nil
        }
    }
}
#endif
