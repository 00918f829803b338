#if Offline
import AccountKit
import HTTPTypes

/// The reachability of a service, according to the most recent requests.
public enum Connectivity: Sendable, Hashable {
    /// The last request received a response.
    case online
    /// The state is unknown: the app has sent no request, a single request has failed, or the last failures are too
    /// long ago.
    case uncertain(Problem?)
    /// Several requests in a row have failed.
    case offline(Problem)

    /// The reason why a request failed.
    public struct Problem: Sendable, Hashable {
        /// The place where the request failed.
        public let kind: Kind

        /// A description of the failure, for messages.
        public let description: String
    }

    /// The place where a request failed. The raw values are stable.
    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        /// The host name could not be resolved.
        case nameLookUp
        /// There was no connection, or the connection was interrupted.
        case network
        /// Another server responded, such as the sign-in page of a captive portal.
        case portal
        /// The connection is not trusted.
        case tls
        /// The service cannot respond now.
        case service
    }
}

extension Connectivity.Problem {
    init?(_ head: HTTPResponse, to request: HTTPRequest) {
        let type = head.headerFields[.contentType] ?? "", wanted = request.headerFields[.accept] ?? ""
        if type.hasPrefix("text/html"), wanted.contains("json"), !wanted.contains("html") {
            self.init(kind: .portal, description: "a web page arrived instead of data: a captive portal?")
            return
        }
        guard head.status.kind == .serverError else { return nil }
        self.init(
            kind: head.status.code == 511 ? .portal : .service,
            description: "status \(head.status.code)")
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
        case .noResponse(let failure):
            self.init(kind: failure.stage == .nameLookUp ? .nameLookUp : .network, description: "\(failure)")
        case .untrustedTLS(let why): self.init(kind: .tls, description: "the connection is not secure (\(why))")
        case .intercepted(let why): self.init(kind: .portal, description: "another server responded (\(why))")
        case .proxyAuthenticationRequired:
            self.init(kind: .network, description: "the proxy requires credentials")
        case .unavailable(let status, _): self.init(kind: .service, description: "status \(status)")
        default: return nil
        }
    }
}
#endif
