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
        "Maps an errno regardless of its text",
        arguments: [
            (ECONNREFUSED, AuthorityError.Failure.refused), (ECONNRESET, .reset), (EPIPE, .reset),
            (ECONNABORTED, .reset), (ETIMEDOUT, .timeout), (ENETUNREACH, .unreachable), (EHOSTUNREACH, .unreachable),
            (ENETDOWN, .unreachable), (EACCES, .unreachable), (EAFNOSUPPORT, .unreachable),
        ])
    func errno(_ code: CInt, _ expected: AuthorityError.Failure) {
        let error = IOError(errnoCode: code, reason: "connect")
        #expect(kind(TransportFailure.failure(for: error, from: Self.peer, .beforeHead)) == .noResponse(expected))
        #expect(kind(TransportFailure.failure(for: error, from: Self.peer, .inBody)) == .noResponse(.truncated))
    }

    @Test(
        "Maps errors of the HTTP client",
        arguments: [
            (HTTPClientError.connectTimeout, AuthorityError.noResponse(.timeout)),
            (.readTimeout, .noResponse(.timeout)),
            (.writeTimeout, .noResponse(.timeout)), (.deadlineExceeded, .noResponse(.timeout)),
            (.tlsHandshakeTimeout, .noResponse(.timeout)), (.getConnectionFromPoolTimeout, .noResponse(.timeout)),
            (.cancelled, .noResponse(.cancelled)), (.remoteConnectionClosed, .noResponse(.reset)),
            (.proxyAuthenticationRequired, .proxyAuthenticationRequired),
            (.invalidProxyResponse, .noResponse(.proxy)), (.alreadyShutdown, .unclear("…")),
            (.invalidHeaderFieldValues([canary]), .unclear("…")), (.unsupportedScheme(canary), .unclear("…")),
        ])
    func client(_ error: HTTPClientError, _ expected: AuthorityError) {
        let failure = TransportFailure.failure(for: error, from: Self.peer, .beforeHead)
        #expect(kind(failure) == expected)
        #expect(!String(reflecting: failure).contains(canary))
    }

    @Test("A connection that ends within the body is a truncated response")
    func truncated() {
        let errors: [any Error] = [
            HTTPClientError.remoteConnectionClosed, NIOSSLError.uncleanShutdown, ChannelError.eof,
            HTTPParserError.invalidEOFState, IOError(errnoCode: ECONNRESET, reason: "read"),
        ]
        for error in errors {
            #expect(
                kind(TransportFailure.failure(for: error, from: Self.peer, .inBody)) == .noResponse(.truncated),
                "\(error)")
        }
    }

    @Test("A failed lookup is an unknown host (RFC 6761, section 6.4)")
    func lookUp() {
        let error = #expect(throws: SocketAddressError.UnknownHost.self) {
            try SocketAddress.makeAddressResolvingHost("nobody.invalid", port: 1)
        }
        #expect(
            error.map { TransportFailure.failure(for: $0, from: Self.peer, .beforeHead) }
                == .noResponse(.init(.unknownHost, host: "h", port: 443)))
    }

    @Test("A response that is not HTTP is garbled")
    func garbled() {
        for error in [HTTPParserError.invalidVersion, .invalidConstant, .headerOverflow, .unknown] {
            #expect(kind(TransportFailure.failure(for: error, from: Self.peer, .beforeHead)) == .noResponse(.garbled))
        }
    }

    @Test("A failed TLS handshake is untrusted, a closed one means no response")
    func tls() {
        func failure(_ error: any Error) -> AuthorityError? {
            kind(TransportFailure.failure(for: error, from: Self.peer, .beforeHead))
        }
        #expect(failure(NIOSSLError.handshakeFailed(.sslError([]))) == .untrustedTLS("…"))
        #expect(failure(NIOSSLError.unableToValidateCertificate) == .untrustedTLS("…"))
        #expect(failure(NIOSSLError.noCertificateToValidate) == .untrustedTLS("…"))
        #expect(failure(NIOSSLExtraError.failedToValidateHostname) == .untrustedTLS("…"))
        #expect(failure(NIOSSLExtraError.invalidSNIHostname) == .untrustedTLS("…"))
        #expect(failure(NIOSSLError.handshakeFailed(.sslError([.eofDuringHandshake]))) == .noResponse(.reset))
        #expect(failure(NIOSSLError.handshakeFailed(.syscallError)) == .noResponse(.reset))
        #expect(failure(NIOSSLError.uncleanShutdown) == .noResponse(.reset))
    }

    @Test("An unknown error is named by its type and is never definite")
    func unknown() {
        struct Surprise: Error { var token = canary }
        #expect(
            TransportFailure.failure(for: Surprise(), from: Peer(host: "id.example", port: 443), .beforeHead)
                == .unclear("the request to id.example:443 failed: Surprise"))
        #expect(
            kind(TransportFailure.failure(for: CancellationError(), from: Self.peer, .inBody))
                == .noResponse(.cancelled))
    }
}
