import AccountKit
import Testing

/// The details of a failure: how far the request had come, and to which host.
struct AuthorityErrorTests {
    typealias Failure = AuthorityError.Failure

    @Test(arguments: Failure.Kind.allCases)
    func `Reports that a request that was never sent had no effect`(kind: Failure.Kind) {
        for stage in [Failure.Stage.nameLookUp, .connection] {
            #expect(AuthorityError.noResponse(.init(kind, stage: stage)).wasCertainlyNotCarriedOut)
        }
        let isNeverSent = [.unknownHost, .nameServer, .refused, .proxy, .leaseLost, .noThread].contains(kind)
        #expect(AuthorityError.noResponse(.init(kind)).wasCertainlyNotCarriedOut == isNeverSent)
    }

    @Test(arguments: [
        (AuthorityError.oauthError("invalid_request"), true), (.oauthError("invalid_scope"), true),
        (.oauthError("made_up"), true), (.refused(status: 400), true),
        (.unavailable(status: 429, retryAfter: nil), true),
        (.oauthError("server_error"), false), (.oauthError("temporarily_unavailable"), false),
        (.unavailable(status: 500, retryAfter: nil), false), (.unavailable(status: 503, retryAfter: nil), false),
        (.unclear("200 without tokens"), false), (.intercepted("302"), false), (.unauthorized(error: nil), false),
        (.forbidden(error: nil), false), (.refused(status: 404), false),
    ])
    func `Reports that a request had no effect only after an explicit rejection`(
        signal: AuthorityError, isCertain: Bool
    ) {
        #expect(signal.wasCertainlyNotCarriedOut == isCertain)
    }

    @Test func `Matches a failure pattern by kind, but compares failures completely`() {
        let failure = Failure(.timeout, host: "id.example", port: 443, stage: .connection)
        switch AuthorityError.noResponse(failure) {
        case .noResponse(.cancelled): Issue.record("a timeout is not a cancellation")
        case .noResponse(.timeout): break
        default: Issue.record("a timeout is a timeout")
        }
        #expect(AuthorityError.noResponse(failure) != .noResponse(.timeout))
    }

    @Test(arguments: [
        (Failure(.unknownHost, host: "id.example", port: 443), "the host name id.example is not known"),
        (
            .init(.nameServer, host: "id.example", port: 443),
            "the name lookup of id.example failed: no name server responded"
        ),
        (
            .init(.timeout, host: "id.example", port: 443, stage: .nameLookUp),
            "the name lookup of id.example timed out"
        ),
        (
            .init(.timeout, host: "id.example", port: 8443, stage: .connection),
            "the connection to id.example:8443 timed out"
        ),
        (.init(.timeout, host: "id.example", port: 443), "id.example:443 did not respond in time"),
        (.init(.refused, host: "id.example", port: 443), "the connection to id.example:443 was refused"),
        (.init(.unreachable, host: "[2001:db8::1]", port: 443), "there is no route to [2001:db8::1]:443"),
        (.init(.reset, host: "id.example", port: 443), "the connection to id.example:443 was interrupted"),
        (.init(.truncated, host: "id.example", port: 443), "the response from id.example:443 was truncated"),
        (.init(.garbled, host: "id.example", port: 443), "the response from id.example:443 was not HTTP"),
        (.init(.proxy, host: "proxy", port: 3128), "the proxy proxy:3128 did not open a connection to the service"),
        (.unknownHost, "the host name is not known"), (.refused, "the connection to the service was refused"),
        (.proxy, "the proxy did not open a connection to the service"), (.cancelled, "cancelled"),
    ])
    func `Names host and port once in the text of a failure`(
        failure: Failure, text: String
    ) {
        #expect(failure.description == text)
        #expect(
            SessionDecision.reason(for: .noResponse(failure)).detail
                == (failure.kind == .cancelled ? nil : text))
    }
}
