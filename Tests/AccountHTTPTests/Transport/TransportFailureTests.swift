import AccountKit
import AsyncHTTPClient
import NIOCore
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

/// The mapping of errors to failures. ``HTTPTransportTests`` has the errors that a test server can cause.
@Suite("Errors of the HTTP client")
struct TransportFailureTests {
    private static let peer = Peer(host: "h", port: 443)

    @Test(
        "Maps an errno to a failure regardless of the error text",
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
        "Maps errors of the HTTP client to failures",
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

    @Test("Distinguishes a failed TLS handshake from a closed connection")
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

    @Test("Names an unknown error by its type and treats the result as unclear")
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
