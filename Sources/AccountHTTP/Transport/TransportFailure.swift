import AccountKit
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

/// What an error of the HTTP client, or of what is below it, amounts to: by its type and errno, never by its text.
///
/// No error becomes a definite signal.
enum TransportFailure {
    /// How far the exchange had come.
    enum Phase: Sendable {
        case beforeHead
        case inBody
    }

    /// The signal for an error. Of the error's text nothing is taken over, since it may quote the request.
    static func signal(for error: any Error, from host: String, _ phase: Phase) -> AuthoritySignal {
        switch error {
        case let signal as AuthoritySignal: signal
        case is CancellationError: .noReply(.cancelled)
        case let error as HTTPClientError: signal(for: error, phase)
        case let error as NIOConnectionError: .noReply(failure(error))
        case is SocketAddressError.UnknownHost, is SocketAddressError: .noReply(.unknownHost)
        case let error as IOError: .noReply(phase == .inBody ? .truncated : failure(errno: error.errnoCode))
        case let error as ChannelError: .noReply(failure(error, phase))
        case let error as HTTPParserError:
            // The end came within the head, or within a body that said how long it is.
            .noReply(error == .invalidEOFState ? .truncated : .garbled)
        case let error as NIOSSLError: signal(for: error, from: host, phase)
        case let error as BoringSSLError: signal(for: error, from: host, phase)
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            .untrustedTLS("the certificate of \(host) is for another name")
        case is NIOSSLExtraError: .untrustedTLS("no trusted connection to \(host)")
        default: .unclear("the request to \(host) failed: \(type(of: error))")
        }
    }

    private static func signal(for error: HTTPClientError, _ phase: Phase) -> AuthoritySignal {
        switch error {
        case .cancelled: .noReply(.cancelled)
        case .connectTimeout, .readTimeout, .writeTimeout, .deadlineExceeded, .tlsHandshakeTimeout,
            .httpProxyHandshakeTimeout, .socksHandshakeTimeout, .getConnectionFromPoolTimeout:
            .noReply(.timeout)
        case .remoteConnectionClosed, .uncleanShutdown: .noReply(phase == .inBody ? .truncated : .reset)
        case .proxyAuthenticationRequired: .proxyAuthenticationRequired
        case .invalidProxyResponse: .noReply(.proxy)
        // The short description holds no values of the request.
        default: .unclear("the request failed: \(error.shortDescription)")
        }
    }

    // MARK: Sockets

    /// Several addresses may have been tried; what the most telling one said counts.
    private static func failure(_ error: NIOConnectionError) -> AuthoritySignal.Failure {
        let failures = error.connectionErrors.map { attempt in
            switch attempt.error {
            case let error as IOError: failure(errno: error.errnoCode)
            case let error as ChannelError: failure(error, .beforeHead)
            default: AuthoritySignal.Failure.unreachable
            }
        }
        let telling: [AuthoritySignal.Failure] = [.refused, .reset, .timeout, .unreachable]
        if let failure = telling.first(where: failures.contains) { return failure }
        return error.dnsAError != nil || error.dnsAAAAError != nil ? .unknownHost : .unreachable
    }

    private static func failure(_ error: ChannelError, _ phase: Phase) -> AuthoritySignal.Failure {
        switch error {
        case .connectTimeout: .timeout
        case .eof, .ioOnClosedChannel, .alreadyClosed, .inputClosed, .outputClosed:
            phase == .inBody ? .truncated : .reset
        default: .unreachable
        }
    }

    static func failure(errno code: CInt) -> AuthoritySignal.Failure {
        switch code {
        case ECONNREFUSED: .refused
        case ECONNRESET, EPIPE, ECONNABORTED, ENOTCONN, ESHUTDOWN: .reset
        case ETIMEDOUT: .timeout
        // No route, no network, no address of that family, a firewall here: all that is left is "not from here".
        default: .unreachable
        }
    }

    // MARK: TLS

    private static func signal(for error: NIOSSLError, from host: String, _ phase: Phase) -> AuthoritySignal {
        switch error {
        case .handshakeFailed(let error): signal(for: error, from: host, phase)
        // The connection was cut without a good-bye, which TLS alone can tell from an end.
        case .uncleanShutdown: .noReply(phase == .inBody ? .truncated : .reset)
        case .failedToLoadCertificate, .noSuchFilesystemObject:
            .untrustedTLS("this machine has no root certificates to trust; install ca-certificates")
        default: .untrustedTLS("the certificate of \(host) could not be verified")
        }
    }

    private static func signal(for error: BoringSSLError, from host: String, _ phase: Phase) -> AuthoritySignal {
        switch error {
        case .syscallError, .zeroReturn: return .noReply(phase == .inBody ? .truncated : .reset)
        case .sslError(let stack), .unknownError(let stack):
            if stack.contains(.eofDuringHandshake) { return .noReply(.reset) }
            return .untrustedTLS("TLS with \(host) failed\(reason(stack).map { " (\($0))" } ?? "")")
        default: return .untrustedTLS("TLS with \(host) failed")
        }
    }

    /// BoringSSL's name of the failure, such as `CERTIFICATE_VERIFY_FAILED`, to tell a person. Nothing depends on it.
    private static func reason(_ stack: NIOBoringSSLErrorStack) -> String? {
        let words = stack.first?.description.split { !($0.isUppercase || $0 == "_") }
        return words?.filter { $0.contains("_") && $0.first != "_" }.max { $0.count < $1.count }.map(String.init)
    }
}
