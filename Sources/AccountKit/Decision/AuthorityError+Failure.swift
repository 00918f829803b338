extension AuthorityError {
    /// Why no whole response came: what happened, with whom, and how far the request had come.
    ///
    /// As a pattern, a failure stands for its kind alone: `case .noResponse(.timeout)` matches a timeout of any host at any
    /// stage. Two failures are equal only if all of it is.
    public struct Failure: Hashable, Sendable {
        /// What happened.
        public var kind: Kind

        /// The host that did not respond, or the proxy on the way to it; an IPv6 address in brackets. `nil` if it is not known.
        public var host: String?

        /// The host's port.
        public var port: Int?

        /// How far the request had come.
        public var stage: Stage

        /// Creates a failure.
        ///
        /// - Parameters:
        ///   - kind: What happened.
        ///   - host: The host that did not respond.
        ///   - port: The host's port.
        ///   - stage: How far the request had come; with `nil` what goes without saying for its kind, and otherwise ``Stage/sent``.
        public init(_ kind: Kind, host: String? = nil, port: Int? = nil, stage: Stage? = nil) {
            self.kind = kind
            self.host = host
            self.port = port
            self.stage = stage ?? kind.usualStage
        }

        /// What happened.
        public enum Kind: String, Hashable, Sendable, CaseIterable {
            /// There is no host of that name.
            case unknownHost
            /// No name server said whether there is one.
            case nameServer
            case refused
            case unreachable
            case reset
            case timeout
            case cancelled
            case truncated
            case garbled
            /// The proxy on the way could not be reached, or did not open the way.
            case proxy

            fileprivate var usualStage: Stage {
                switch self {
                case .unknownHost, .nameServer: .nameLookUp
                case .refused, .proxy: .connection
                case .unreachable, .reset, .timeout, .cancelled, .truncated, .garbled: .sent
                }
            }
        }

        /// How far a request had come.
        public enum Stage: String, Hashable, Sendable, CaseIterable {
            /// The address of the host was being looked up.
            case nameLookUp
            /// Something that the request needs was being asked for, such as the discovery document.
            case preparation
            /// A connection was being made. Nothing of what the request asks for had been sent.
            case connection
            /// The request, or a part of it, may have reached the service.
            case sent
        }

        /// There is no host of that name.
        public static let unknownHost = Failure(.unknownHost)
        /// No name server said whether there is one.
        public static let nameServer = Failure(.nameServer)
        /// The host refused the connection.
        public static let refused = Failure(.refused)
        /// There is no way to the host.
        public static let unreachable = Failure(.unreachable)
        /// The connection was cut before a response.
        public static let reset = Failure(.reset)
        /// It took too long.
        public static let timeout = Failure(.timeout)
        /// The task was cancelled.
        public static let cancelled = Failure(.cancelled)
        /// The connection was cut within the response.
        public static let truncated = Failure(.truncated)
        /// The response is not HTTP.
        public static let garbled = Failure(.garbled)
        /// The proxy on the way could not be reached, or did not open the way.
        public static let proxy = Failure(.proxy)

        /// Whether two failures are of one kind.
        public static func ~= (pattern: Failure, failure: Failure) -> Bool { pattern.kind == failure.kind }
    }
}

extension AuthorityError.Failure: CustomStringConvertible {
    /// What happened, in words that name host and port once.
    public var description: String {
        let name = host ?? "the service"
        let place = host.map { host in port.map { "\(host):\($0)" } ?? host } ?? "the service"
        return switch (kind, stage) {
        case (.unknownHost, _): "the host name \(host.map { "\($0) " } ?? "")is not known"
        case (.nameServer, _): "name look-up of \(name) failed: no name server responded"
        case (.refused, _): "connection to \(place) was refused"
        case (.unreachable, _): "there is no route to \(place)"
        case (.reset, _): "connection to \(place) was cut"
        case (.timeout, .nameLookUp): "name look-up of \(name) timed out"
        case (.timeout, .connection): "connection to \(place) timed out"
        case (.timeout, .preparation), (.timeout, .sent): "\(place) did not respond in time"
        case (.cancelled, _): "cancelled"
        case (.truncated, _): "the response of \(place) was cut off"
        case (.garbled, _): "the response of \(place) was not HTTP"
        case (.proxy, _): "the proxy\(host == nil ? "" : " \(place)") did not open the way to the service"
        }
    }
}

extension AuthorityError {
    /// Whether the service has surely not carried out what it was asked, such as spending a refresh token.
    ///
    /// Of all else nobody knows: a gateway may have lost the response, and a response without tokens may have cost one.
    package var wasCertainlyNotCarriedOut: Bool {
        switch self {
        case .noResponse(let failure):
            failure.stage != .sent || [.unknownHost, .nameServer, .refused, .proxy].contains(failure.kind)
        case .oauthError(.serverError, _), .oauthError(.temporarilyUnavailable, _): false
        case .notSent, .untrustedTLS, .proxyAuthenticationRequired, .unavailable(429, _), .oauthError, .badRequest,
            .misconfigured:
            true
        default: false
        }
    }
}
