import AccountKit
import AccountNetwork
import AccountSupport
import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The first hop of a request: the service, or the proxy in front of it.
struct Peer: Sendable, Hashable, CustomStringConvertible {
    /// The host, with an IPv6 address in brackets.
    var host: String
    var port: Int
    var isProxy = false
    var isLoopback = false

    var description: String { "\(host):\(port)" }

    /// The owner of the certificate. A proxy passes on the certificate of the service.
    fileprivate var certificateOwner: String { isProxy ? "the service (through the proxy \(self))" : description }

    func failure(_ kind: AuthorityError.Failure.Kind, _ stage: AuthorityError.Failure.Stage? = nil) -> AuthorityError {
        switch kind {
        // If the proxy cannot be reached, the state of the service is unknown.
        case .unknownHost, .nameServer, .refused, .unreachable:
            .noResponse(.init(isProxy ? .proxy : kind, host: host, port: port, stage: stage))
        case .cancelled, .leaseLost, .noThread: .noResponse(.init(kind, stage: stage))
        case .proxy, .reset, .timeout, .truncated, .garbled:
            .noResponse(.init(kind, host: host, port: port, stage: stage))
        }
    }
}

extension Peer {
    init(_ url: ServiceURL) {
        self.init(
            host: url.host, port: url.port ?? (url.scheme == "https" ? 443 : 80), isLoopback: url.isLoopback)
    }
}

extension IOError {
    static var connectionRefused: IOError { IOError(errnoCode: ECONNREFUSED, reason: "connect") }

    /// Whether the client could not connect, and therefore sent no data.
    var isNotConnected: Bool {
        [ECONNREFUSED, EADDRNOTAVAIL, EAFNOSUPPORT, EHOSTUNREACH, ENETUNREACH].contains(errnoCode)
    }
}

/// Classifies an error by its type and errno, not by its text. No transport error becomes a definite rejection.
enum TransportFailure {
    enum Phase: Sendable {
        case beforeHead
        case inBody
    }

    /// Returns the failure for an error. The failure does not contain the error's text, which may quote the request.
    static func failure(
        for error: any Error, from peer: Peer, _ phase: Phase, after time: Duration = .zero
    ) -> AuthorityError {
        switch error {
        case let failure as AuthorityError: failure
        case let refusal as ConnectionRefusal: failure(for: refusal, from: peer)
        case is CancellationError: peer.failure(.cancelled)
        case let error as HTTPClientError: failure(for: error, from: peer, phase)
        case let error as NIOConnectionError: failure(for: error, from: peer, after: time)
        case let error as SocketAddressError.UnknownHost: lookUpFailure(error, from: peer, after: time)
        case is SocketAddressError: peer.failure(.unknownHost)
        case let error as IOError: peer.failure(phase == .inBody ? .truncated : kind(errno: error.errnoCode))
        case let error as ChannelError: peer.failure(kind(error, phase))
        case let error as HTTPParserError:
            // With `invalidEOFState`, the connection ended within the head, or within a body of a stated length.
            peer.failure(error == .invalidEOFState ? .truncated : .garbled)
        case let error as NIOSSLError: failure(for: error, from: peer, phase)
        case let error as BoringSSLError: failure(for: error, from: peer, phase)
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            failure(for: ConnectionRefusal.certificate, from: peer)
        case is NIOSSLExtraError: .untrustedTLS("no trusted connection to \(peer)")
        default: .unclear("the request to \(peer) failed: \(type(of: error))")
        }
    }

    private static func failure(for refusal: ConnectionRefusal, from peer: Peer) -> AuthorityError {
        switch refusal {
        case .certificate: .untrustedTLS("the certificate of \(peer.certificateOwner) is for another host name")
        case .owner(let user): .untrustedTLS(ConnectionRefusal.text(ofOwner: SystemCall.userName(user), at: "\(peer)"))
        case .network(let flaw): .misconfigured(flaw)
        }
    }

    private static func failure(for error: HTTPClientError, from peer: Peer, _ phase: Phase) -> AuthorityError {
        switch error {
        case .cancelled: peer.failure(.cancelled)
        case .connectTimeout, .tlsHandshakeTimeout, .httpProxyHandshakeTimeout, .socksHandshakeTimeout,
            .getConnectionFromPoolTimeout:
            peer.failure(.timeout, .connection)
        case .readTimeout, .writeTimeout, .deadlineExceeded: peer.failure(.timeout)
        case .remoteConnectionClosed, .uncleanShutdown: peer.failure(phase == .inBody ? .truncated : .reset)
        case .proxyAuthenticationRequired: .proxyAuthenticationRequired
        case .invalidProxyResponse: peer.failure(.proxy)
        // The short description contains no values of the request.
        default: .unclear("the request to \(peer) failed: \(error.shortDescription)")
        }
    }

    // MARK: Sockets

    /// Classifies the failed attempts to connect. If the host has several addresses, the most specific failure counts.
    private static func failure(
        for error: NIOConnectionError, from peer: Peer, after time: Duration
    ) -> AuthorityError {
        let failures = error.connectionErrors.map { attempt in
            switch attempt.error {
            case let error as IOError: kind(errno: error.errnoCode)
            case let error as ChannelError: kind(error, .beforeHead)
            default: AuthorityError.Failure.Kind.unreachable
            }
        }
        let telling: [AuthorityError.Failure.Kind] = [.refused, .reset, .timeout, .unreachable]
        if let kind = telling.first(where: failures.contains) { return peer.failure(kind, .connection) }
        let lookUps = [error.dnsAError, error.dnsAAAAError].compactMap { $0 as? SocketAddressError.UnknownHost }
        if let lookUp = lookUps.first { return lookUpFailure(lookUp, from: peer, after: time) }
        return peer.failure(error.dnsAError != nil || error.dnsAAAAError != nil ? .unknownHost : .unreachable)
    }

    /// Classifies a failed lookup. After `EAI_AGAIN`, the name may exist: the name servers were unreachable or did not
    /// respond in time.
    private static func lookUpFailure(
        _ error: SocketAddressError.UnknownHost, from peer: Peer, after time: Duration
    ) -> AuthorityError {
        guard error.errorCode == Int(EAI_AGAIN) else { return peer.failure(.unknownHost) }
        // According to resolv.conf(5), an attempt takes at least one second.
        return time < .milliseconds(900) ? peer.failure(.nameServer) : peer.failure(.timeout, .nameLookUp)
    }

    private static func kind(_ error: ChannelError, _ phase: Phase) -> AuthorityError.Failure.Kind {
        switch error {
        case .connectTimeout: .timeout
        case .eof, .ioOnClosedChannel, .alreadyClosed, .inputClosed, .outputClosed:
            phase == .inBody ? .truncated : .reset
        default: .unreachable
        }
    }

    static func kind(errno code: CInt) -> AuthorityError.Failure.Kind {
        switch code {
        case ECONNREFUSED: .refused
        case ECONNRESET, EPIPE, ECONNABORTED, ENOTCONN, ESHUTDOWN: .reset
        case ETIMEDOUT: .timeout
        // No route, no network, an unsupported address family, or a local firewall.
        default: .unreachable
        }
    }

    // MARK: TLS

    private static func failure(for error: NIOSSLError, from peer: Peer, _ phase: Phase) -> AuthorityError {
        switch error {
        case .handshakeFailed(let error): failure(for: error, from: peer, phase)
        case .uncleanShutdown: peer.failure(phase == .inBody ? .truncated : .reset)
        case .failedToLoadCertificate, .noSuchFilesystemObject:
            .untrustedTLS(
                NetworkEnvironment.current.certificateFile.map {
                    "the certificates in \($0.value), which SSL_CERT_FILE names, cannot be read"
                } ?? "this machine has no root certificates to trust; install ca-certificates")
        default: .untrustedTLS("the certificate of \(peer.certificateOwner) could not be verified")
        }
    }

    private static func failure(for error: BoringSSLError, from peer: Peer, _ phase: Phase) -> AuthorityError {
        switch error {
        case .syscallError, .zeroReturn: return peer.failure(phase == .inBody ? .truncated : .reset)
        case .sslError(let stack), .unknownError(let stack):
            if stack.contains(.eofDuringHandshake) { return peer.failure(.reset) }
            let reason = reason(stack)
            if reason == "CERTIFICATE_VERIFY_FAILED" {
                return .untrustedTLS("the certificate of \(peer.certificateOwner) is not trusted, or has expired")
            }
            return .untrustedTLS("TLS with \(peer) failed\(reason.map { " (\($0))" } ?? "")\(advice(reason, peer))")
        default: return .untrustedTLS("TLS with \(peer) failed")
        }
    }

    private static func advice(_ reason: String?, _ peer: Peer) -> String {
        guard reason == "WRONG_VERSION_NUMBER", !peer.isProxy else { return "" }
        return peer.isLoopback
            ? ": the port does not speak TLS; if it speaks plain HTTP, use http://\(peer)"
            : ": the port does not speak TLS; use the port for https://"
    }

    /// Returns BoringSSL's name of the failure, such as `CERTIFICATE_VERIFY_FAILED`. Only the message depends on this
    /// name.
    private static func reason(_ stack: NIOBoringSSLErrorStack) -> String? {
        let words = stack.first?.description.split { !($0.isUppercase || $0 == "_") }
        return words?.filter { $0.contains("_") && $0.first != "_" }.max { $0.count < $1.count }.map(String.init)
    }
}
