import AccountKit
import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOSSL
import Testing

@testable import AccountHTTP

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

@Suite("Errors of the HTTP client")
struct TransportFailureTests {
    private static let peer = Peer(host: "h", port: 443)

    @Test(
        "An errno has a meaning, whatever its text",
        arguments: [
            (ECONNREFUSED, AuthoritySignal.Failure.refused), (ECONNRESET, .reset), (EPIPE, .reset),
            (ECONNABORTED, .reset), (ETIMEDOUT, .timeout), (ENETUNREACH, .unreachable), (EHOSTUNREACH, .unreachable),
            (ENETDOWN, .unreachable), (EACCES, .unreachable), (EAFNOSUPPORT, .unreachable),
        ])
    func errno(_ code: CInt, _ expected: AuthoritySignal.Failure) {
        let error = IOError(errnoCode: code, reason: "connect")
        #expect(kind(TransportFailure.signal(for: error, from: Self.peer, .beforeHead)) == .noReply(expected))
        #expect(kind(TransportFailure.signal(for: error, from: Self.peer, .inBody)) == .noReply(.truncated))
    }

    @Test(
        "An error of the client has a meaning",
        arguments: [
            (HTTPClientError.connectTimeout, AuthoritySignal.noReply(.timeout)), (.readTimeout, .noReply(.timeout)),
            (.writeTimeout, .noReply(.timeout)), (.deadlineExceeded, .noReply(.timeout)),
            (.tlsHandshakeTimeout, .noReply(.timeout)), (.getConnectionFromPoolTimeout, .noReply(.timeout)),
            (.cancelled, .noReply(.cancelled)), (.remoteConnectionClosed, .noReply(.reset)),
            (.proxyAuthenticationRequired, .proxyAuthenticationRequired),
            (.invalidProxyResponse, .noReply(.proxy)), (.alreadyShutdown, .unclear("…")),
            (.invalidHeaderFieldValues([canary]), .unclear("…")), (.unsupportedScheme(canary), .unclear("…")),
        ])
    func client(_ error: HTTPClientError, _ expected: AuthoritySignal) {
        let signal = TransportFailure.signal(for: error, from: Self.peer, .beforeHead)
        #expect(kind(signal) == expected)
        #expect(!String(reflecting: signal).contains(canary))
    }

    @Test("A connection that ends within the body cut the reply off")
    func truncated() {
        let errors: [any Error] = [
            HTTPClientError.remoteConnectionClosed, NIOSSLError.uncleanShutdown, ChannelError.eof,
            HTTPParserError.invalidEOFState, IOError(errnoCode: ECONNRESET, reason: "read"),
        ]
        for error in errors {
            #expect(
                kind(TransportFailure.signal(for: error, from: Self.peer, .inBody)) == .noReply(.truncated), "\(error)")
        }
    }

    @Test("A look-up that fails by itself means the same as within a connection attempt (RFC 6761, section 6.4)")
    func lookUp() {
        let error = #expect(throws: SocketAddressError.UnknownHost.self) {
            try SocketAddress.makeAddressResolvingHost("nobody.invalid", port: 1)
        }
        #expect(
            error.map { TransportFailure.signal(for: $0, from: Self.peer, .beforeHead) }
                == .noReply(.init(.unknownHost, host: "h", port: 443)))
    }

    @Test("What is not HTTP is garbled")
    func garbled() {
        for error in [HTTPParserError.invalidVersion, .invalidConstant, .headerOverflow, .unknown] {
            #expect(kind(TransportFailure.signal(for: error, from: Self.peer, .beforeHead)) == .noReply(.garbled))
        }
    }

    @Test("TLS that fails is not trusted, TLS that was cut is no reply")
    func tls() {
        func signal(_ error: any Error) -> AuthoritySignal? {
            kind(TransportFailure.signal(for: error, from: Self.peer, .beforeHead))
        }
        #expect(signal(NIOSSLError.handshakeFailed(.sslError([]))) == .untrustedTLS("…"))
        #expect(signal(NIOSSLError.unableToValidateCertificate) == .untrustedTLS("…"))
        #expect(signal(NIOSSLError.noCertificateToValidate) == .untrustedTLS("…"))
        #expect(signal(NIOSSLExtraError.failedToValidateHostname) == .untrustedTLS("…"))
        #expect(signal(NIOSSLExtraError.invalidSNIHostname) == .untrustedTLS("…"))
        #expect(signal(NIOSSLError.handshakeFailed(.sslError([.eofDuringHandshake]))) == .noReply(.reset))
        #expect(signal(NIOSSLError.handshakeFailed(.syscallError)) == .noReply(.reset))
        #expect(signal(NIOSSLError.uncleanShutdown) == .noReply(.reset))
    }

    @Test("An error that nobody knows is named by its type, and is never definite")
    func unknown() {
        struct Surprise: Error { var token = canary }
        #expect(
            TransportFailure.signal(for: Surprise(), from: Peer(host: "id.example", port: 443), .beforeHead)
                == .unclear("the request to id.example:443 failed: Surprise"))
        #expect(
            kind(TransportFailure.signal(for: CancellationError(), from: Self.peer, .inBody)) == .noReply(.cancelled))
    }
}
