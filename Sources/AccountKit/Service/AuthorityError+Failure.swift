import AccountSupport

extension AuthorityError {
    /// The reason for a missing or incomplete response. The description names the host, if it is known.
    ///
    /// A custom authority throws one of the constants, such as ``timeout``. As a pattern, a failure matches only its
    /// kind: `case .noResponse(.timeout)` matches a timeout of any host at any stage. The operator `==` compares all
    /// properties.
    public struct Failure: Hashable, Sendable {
        package var kind: Kind

        /// The host that did not respond, or its proxy; an IPv6 address is in brackets. `nil` if the host is unknown.
        package var host: String?

        /// The host's port.
        package var port: Int?

        package var stage: Stage

        package init(_ kind: Kind, host: String? = nil, port: Int? = nil, stage: Stage? = nil) {
            self.kind = kind
            self.host = host
            self.port = port
            self.stage = stage ?? kind.usualStage
        }

        package enum Kind: String, Hashable, Sendable, CaseIterable {
            case unknownHost
            case nameServer
            case refused
            case unreachable
            case reset
            case timeout
            case cancelled
            case truncated
            case garbled
            case proxy
            /// The sender's lease does not last for the whole exchange, so no part of the request was sent.
            case leaseLost
            /// This machine could not start the threads that a request needs.
            case noThread

            fileprivate var usualStage: Stage {
                switch self {
                case .unknownHost, .nameServer: .nameLookUp
                case .refused, .proxy, .leaseLost, .noThread: .connection
                case .unreachable, .reset, .timeout, .cancelled, .truncated, .garbled: .sent
                }
            }
        }

        package enum Stage: String, Hashable, Sendable, CaseIterable {
            case nameLookUp
            /// An earlier request that this request depends on, such as the request for the discovery document.
            case preparation
            /// The connection to the host. No part of the request was sent.
            case connection
            /// The request or a part of it may have reached the service.
            case sent
        }

        /// There is no host with this name.
        public static let unknownHost = Failure(.unknownHost)
        /// No name server responded.
        package static let nameServer = Failure(.nameServer)
        /// The host refused the connection.
        public static let refused = Failure(.refused)
        /// There is no route to the host.
        public static let unreachable = Failure(.unreachable)
        /// The connection ended before a response.
        public static let reset = Failure(.reset)
        /// The time limit was exceeded.
        public static let timeout = Failure(.timeout)
        /// The task was cancelled.
        public static let cancelled = Failure(.cancelled)
        /// The connection ended during the response.
        package static let truncated = Failure(.truncated)
        /// The response is not HTTP.
        package static let garbled = Failure(.garbled)
        /// The proxy is unreachable, or refused the connection.
        package static let proxy = Failure(.proxy)

        /// Returns whether two failures are of the same kind.
        public static func ~= (pattern: Failure, failure: Failure) -> Bool { pattern.kind == failure.kind }
    }
}

extension AuthorityError.Failure: CustomStringConvertible {
    /// A description that contains the host and the port.
    public var description: String {
        let name = host ?? "the service"
        let place = host.map { host in port.map { "\(host):\($0)" } ?? host } ?? "the service"
        return switch (kind, stage) {
        case (.unknownHost, _): "the host name \(host.map { "\($0) " } ?? "")is not known"
        case (.nameServer, _): "the name lookup of \(name) failed: no name server responded"
        case (.refused, _): "the connection to \(place) was refused"
        case (.unreachable, _): "there is no route to \(place)"
        case (.reset, _): "the connection to \(place) was interrupted"
        case (.timeout, .nameLookUp): "the name lookup of \(name) timed out"
        case (.timeout, .connection): "the connection to \(place) timed out"
        case (.timeout, .preparation), (.timeout, .sent): "\(place) did not respond in time"
        case (.cancelled, _): "cancelled"
        case (.truncated, _): "the response from \(place) was truncated"
        case (.garbled, _): "the response from \(place) was not HTTP"
        case (.proxy, _): "the proxy\(host == nil ? "" : " \(place)") did not open a connection to the service"
        case (.leaseLost, _):
            "the refresh lease was lost, because this process was stopped or disconnected for too long: nothing was sent; try again"
        case (.noThread, _): ThreadSupply.problem
        }
    }
}

extension AuthorityError {
    /// The failure of the request itself, or of the earlier request on which it depends.
    package var failureOfRequest: AuthorityError {
        if case .notSent(let failure) = self { failure.failureOfRequest } else { self }
    }

    /// Whether the service has certainly not carried out the request, so that the refresh token is not spent. After any
    /// other error, the service may have carried out the request: a gateway may have lost the response, or the service
    /// may have spent the refresh token without returning new tokens.
    package var wasCertainlyNotCarriedOut: Bool {
        switch self {
        case .noResponse(let failure):
            failure.stage != .sent || [.unknownHost, .nameServer, .refused, .proxy].contains(failure.kind)
        case .oauthError("server_error", _), .oauthError("temporarily_unavailable", _): false
        case .notSent, .untrustedTLS, .proxyAuthenticationRequired, .unavailable(429, _), .oauthError,
            .refused(status: 400), .misconfigured:
            true
        default: false
        }
    }
}

/// The reason for a missing response, so that a caller can tell whether the service may have carried out the request.
package struct RequestFailure: Error {
    package let failure: AuthorityError

    package init(_ failure: AuthorityError) { self.failure = failure }
}

extension AccountError {
    package var requestFailure: AuthorityError? { (cause as? RequestFailure)?.failure }
}
