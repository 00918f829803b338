import AccountKit
import FoundationEssentials
import Testing

@testable import AccountHTTP

/// The meaning of each response, as a table. The tests of the authorities only check that they use it.
@Suite("Parsing responses")
struct ResponseParserTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var endpoint: ResponseParser.Endpoint
        var response: ServiceResponse
        var failure: AuthorityError?
        var testDescription: String {
            "\(endpoint): \(response.status) \(String(decoding: response.body.prefix(60), as: UTF8.self))"
        }

        init(_ endpoint: ResponseParser.Endpoint, _ response: ServiceResponse, _ failure: AuthorityError?) {
            self.endpoint = endpoint
            self.response = response
            self.failure = failure
        }
    }

    private static let html = #"<!DOCTYPE html><title>Welcome to Station Wi-Fi</title>"#
    private static let invalidGrant = #"{"error":"invalid_grant"}"#
    private static let bearer = "WWW-Authenticate"

    static let rows: [Row] = [
        // Successes.
        Row(.userInfo, .json(200, #"{"sub":"1"}"#), nil),
        Row(.token, .json(200, #"{"access_token":"a"}"#), nil),
        Row(.token, .json(201, #"{"access_token":"a"}"#), nil),
        Row(.discovery, ServiceResponse(200, [:], #"{"issuer":"x"}"#), nil),
        Row(.token, ServiceResponse(200, ["Content-Type": "text/plain"], #"{"access_token":"a"}"#), nil),
        Row(.token, .json(200, #"{"access_token":"a","error":""}"#), nil),
        Row(.token, .json(200, #"{"access_token":"a","error":"invalid_grant"}"#), nil),

        // Responses from an intermediary.
        Row(.userInfo, ServiceResponse(511, [:], html), .intercepted("…")),
        Row(.token, .json(511, invalidGrant), .intercepted("…")),
        Row(.userInfo, ServiceResponse(301, ["Location": "https://other.example/"]), .intercepted("…")),
        Row(.userInfo, ServiceResponse(302, ["Location": "https://other.example/"]), .intercepted("…")),
        Row(.token, .json(303, invalidGrant), .intercepted("…")),
        Row(.discovery, ServiceResponse(304), .intercepted("…")),
        Row(.token, ServiceResponse(307), .intercepted("…")),
        Row(.revocation, ServiceResponse(308), .intercepted("…")),
        Row(.userInfo, ServiceResponse(200, ["Content-Type": "text/html; charset=utf-8"], html), .intercepted("…")),
        Row(.userInfo, ServiceResponse(200, ["content-type": "TEXT/HTML"], #"{"sub":"1"}"#), nil),
        Row(.token, ServiceResponse(200, ["content-type": "TEXT/HTML"], invalidGrant), .intercepted("…")),
        Row(.userInfo, ServiceResponse(200, ["Content-Type": "application/json"], "\n  " + html), .intercepted("…")),
        Row(.token, ServiceResponse(200, [:], "\u{FEFF}<html>"), .intercepted("…")),

        // Inconclusive responses.
        Row(.userInfo, ServiceResponse(200, [:], ""), .unclear("…")),
        Row(.userInfo, ServiceResponse(204), .unclear("…")),
        Row(.userInfo, ServiceResponse(206, [:], #"{"sub":"1"}"#), nil),
        Row(.deviceAuthorization, ServiceResponse(202, ["Content-Type": "text/html"], #"{"device_code":"d"}"#), nil),
        Row(.userInfo, .json(200, "[]"), .unclear("…")),
        Row(.userInfo, .json(200, #"{"sub":"#), .unclear("…")),
        Row(.userInfo, .json(200, "null"), .unclear("…")),
        Row(.userInfo, ServiceResponse(200, ["Content-Type": "application/jwt"], "e30.e30.e30"), .unclear("…")),
        Row(.userInfo, ServiceResponse(200, ["Content-Encoding": "gzip"], #"{"sub":"1"}"#), nil),
        Row(.token, ServiceResponse(200, ["Content-Encoding": "br"], invalidGrant), .unclear("…")),
        Row(.userInfo, ServiceResponse(404, [:], html), .unclear("…")),
        Row(.userInfo, .json(410, #"{"error":"invalid_token"}"#), .unclear("…")),
        Row(.token, .json(404, invalidGrant), .refused(status: 404)),
        Row(.token, ServiceResponse(404, [:], html), .refused(status: 404)),
        Row(.token, ServiceResponse(405), .refused(status: 405)),
        Row(.token, ServiceResponse(418, ["Content-Type": "text/html"], html), .unclear("…")),
        Row(.token, ServiceResponse(418), .refused(status: 418)),
        Row(.token, .json(422, "{}"), .refused(status: 422)),
        Row(.revocation, .json(404, invalidGrant), .unclear("…")),
        Row(.token, .json(410, invalidGrant), .refused(status: 410)),
        Row(.userInfo, .json(400, #"{"error":"invalid_token"}"#), .unclear("…")),
        Row(.userInfo, ServiceResponse(400, [bearer: #"Bearer error="invalid_token""#]), .unclear("…")),
        Row(.userInfo, .json(418, invalidGrant), .unclear("…")),
        Row(.token, ServiceResponse(400, ["Content-Type": "text/html"], html), .unclear("…")),
        Row(.token, ServiceResponse(400, ["Content-Type": "text/html"], invalidGrant), .unclear("…")),
        Row(.token, ServiceResponse(400, ["Content-Encoding": "br"], invalidGrant), .unclear("…")),
        Row(.token, .json(400, "{}"), .refused(status: 400)),
        Row(.token, .json(400, #"{"error":{"code":"invalid_grant"}}"#), .refused(status: 400)),
        Row(.token, .json(400, #"{"error":""}"#), .refused(status: 400)),
        Row(.token, .json(400, #"{"error":"invalid\"grant"}"#), .refused(status: 400)),
        Row(.token, .json(400, #"{"error":"invalid_grant\n"}"#), .refused(status: 400)),
        Row(.token, .json(400, #"["error","invalid_grant"]"#), .refused(status: 400)),
        Row(.token, .json(400, #"[{"error":"invalid_grant"}]"#), .refused(status: 400)),
        Row(.token, .json(400, #"{"data":{"error":"invalid_grant"}}"#), .refused(status: 400)),
        Row(.token, ServiceResponse(400, [:], "error=invalid_grant"), .refused(status: 400)),
        Row(.token, ServiceResponse(400), .refused(status: 400)),
        Row(.token, ServiceResponse(999), .unclear("…")),
        Row(.discovery, .json(400, invalidGrant), .unclear("…")),

        // Failures of the service, with any body.
        Row(.token, .json(503, invalidGrant), .unavailable(status: 503, retryAfter: nil)),
        Row(.token, .json(500, invalidGrant), .unavailable(status: 500, retryAfter: nil)),
        Row(
            .userInfo, ServiceResponse(502, ["Content-Type": "text/html"], html),
            .unavailable(status: 502, retryAfter: nil)),
        Row(.userInfo, ServiceResponse(599), .unavailable(status: 599, retryAfter: nil)),
        Row(
            .userInfo, ServiceResponse(503, [bearer: #"Bearer error="invalid_token""#]),
            .unavailable(status: 503, retryAfter: nil)),
        Row(.token, .json(408, invalidGrant), .unavailable(status: 408, retryAfter: nil)),
        Row(.token, .json(425, invalidGrant), .unavailable(status: 425, retryAfter: nil)),
        Row(
            .token, ServiceResponse(429, ["Retry-After": "7"], invalidGrant),
            .unavailable(status: 429, retryAfter: .seconds(7))),
        Row(
            .revocation, ServiceResponse(503, ["retry-after": "120"]),
            .unavailable(status: 503, retryAfter: .seconds(120))
        ),

        // A proxy.
        Row(.token, .json(407, invalidGrant), .proxyAuthenticationRequired),
        Row(.userInfo, ServiceResponse(407, ["Proxy-Authenticate": "Basic"]), .proxyAuthenticationRequired),

        // OAuth errors from the endpoints that define them.
        Row(.token, .json(400, invalidGrant), .oauthError("invalid_grant")),
        Row(.token, .json(401, #"{"error":"invalid_client"}"#), .oauthError("invalid_client")),
        Row(.token, .json(403, #"{"error":"authorization_pending"}"#), .oauthError("authorization_pending")),
        Row(.token, .json(200, #"{"error":"bad_verification_code"}"#), .oauthError("bad_verification_code")),
        Row(.token, .json(200, #"{"error":"slow_down","access_token":null}"#), .oauthError("slow_down")),
        Row(
            .token,
            ServiceResponse(401, [bearer: #"Bearer error="invalid_token""#], #"{"error":"invalid_client"}"#),
            .oauthError("invalid_client")),
        Row(.revocation, .json(400, #"{"error":"unsupported_token_type"}"#), .oauthError("unsupported_token_type")),

        // Challenges.
        Row(
            .userInfo, ServiceResponse(401, [bearer: #"Bearer realm="x", error="invalid_token""#]),
            .unauthorized(error: "invalid_token")),
        Row(
            .userInfo, ServiceResponse(401, [bearer: "bearer ERROR=invalid_token"]),
            .unauthorized(error: "invalid_token")),
        Row(
            .userInfo, ServiceResponse(401, [bearer: #"Bearer error="INVALID_TOKEN""#]),
            .unauthorized(error: "INVALID_TOKEN")),
        Row(
            .userInfo, ServiceResponse(401, [bearer: #"Bearer error="insufficient_scope""#]),
            .unauthorized(error: "insufficient_scope")),
        Row(.userInfo, ServiceResponse(401, [bearer: #"Bearer realm="x""#]), .unauthorized(error: nil)),
        Row(.userInfo, ServiceResponse(401, [bearer: "Bearer"]), .unauthorized(error: nil)),
        Row(
            .userInfo,
            ServiceResponse(401, [bearer: #"Basic realm="a", Bearer error="invalid_token", Negotiate"#]),
            .unauthorized(error: "invalid_token")),
        Row(
            .userInfo,
            ServiceResponse(401, [bearer: "Basic realm=a", "www-authenticate": #"Bearer error="invalid_token""#]),
            .unauthorized(error: "invalid_token")),
        Row(
            .userInfo,
            ServiceResponse(
                401, [bearer: "Bearer error=invalid_token", "WWW-AUTHENTICATE": "Bearer error=invalid_request"]),
            .unauthorized(error: nil)),
        Row(
            .userInfo,
            ServiceResponse(
                401, [bearer: #"Bearer error="invalid_token", Bearer error="insufficient_scope""#]),
            .unauthorized(error: nil)),
        Row(
            .userInfo, ServiceResponse(401, [bearer: "Bearer error=invalid_token, error=invalid_token"]),
            .unauthorized(error: nil)),
        Row(.userInfo, ServiceResponse(401), .unauthorized(error: nil)),
        Row(.userInfo, .json(401, #"{"error":"invalid_token"}"#), .unauthorized(error: nil)),
        Row(.userInfo, .json(401, invalidGrant), .unauthorized(error: nil)),
        Row(.userInfo, ServiceResponse(401, [bearer: #"Basic realm="x""#]), .unauthorized(error: nil)),
        Row(.userInfo, ServiceResponse(401, [bearer: #"DPoP error="invalid_token""#]), .unauthorized(error: nil)),
        Row(
            .userInfo, ServiceResponse(401, [bearer: #"Basic realm="Bearer error=invalid_token""#]),
            .unauthorized(error: nil)),
        Row(.userInfo, ServiceResponse(401, [bearer: #"Bearer error="invalid_token"#]), .unauthorized(error: nil)),
        Row(
            .userInfo, ServiceResponse(401, ["X-Authenticate": "Bearer error=invalid_token"]), .unauthorized(error: nil)
        ),
        Row(.token, ServiceResponse(401, [bearer: "Basic"], html), .unauthorized(error: nil)),
        Row(
            .discovery, ServiceResponse(401, [bearer: #"Bearer error="invalid_token""#]), .unclear("…")),

        // Permissions.
        Row(
            .userInfo, ServiceResponse(403, [bearer: #"Bearer error="insufficient_scope""#]),
            .forbidden(error: "insufficient_scope")),
        Row(
            .userInfo, ServiceResponse(403, [bearer: #"Bearer error="invalid_token""#]),
            .forbidden(error: "invalid_token")),
        Row(.userInfo, ServiceResponse(403, [:], html), .forbidden(error: nil)),
        Row(.userInfo, .json(403, invalidGrant), .forbidden(error: nil)),
        Row(.userInfo, .json(403, #"{"error":"insufficient_scope"}"#), .forbidden(error: "insufficient_scope")),
        Row(.token, ServiceResponse(403, [:], html), .forbidden(error: nil)),
        Row(.discovery, ServiceResponse(403), .unclear("…")),
    ]

    @Test(arguments: rows)
    func `Maps each response in the table to its failure`(_ row: Row) {
        let reading = ResponseParser(row.endpoint, sent: [Secret(canary)])
        #expect(kind(failure { try reading.object(in: row.response) }) == row.failure)
    }

    @Test("Reports an overlong response as unclear if its status is inconclusive")
    func tooLong() {
        for (status, expected) in [
            (200, AuthorityError.unclear("…")), (400, .unclear("…")), (401, .unclear("…")),
            (503, .unavailable(status: 503, retryAfter: nil)), (302, .intercepted("…")),
        ] {
            var response = ServiceResponse(status, ["WWW-Authenticate": "Bearer error=invalid_token"])
            response.isBodyWhole = false
            let reading = ResponseParser(.token)
            #expect(kind(failure { try reading.object(in: response) }) == expected)
        }
    }

    @Test(
        "Accepts a revocation response by its status, unless it is a web page",
        arguments: [
            (ServiceResponse(200), nil), (ServiceResponse(204), nil), (ServiceResponse(200, [:], "OK"), nil),
            (ServiceResponse(200, ["Content-Type": "text/html"]), nil),
            (ServiceResponse(200, ["Content-Type": "text/html"], "<p>Hello"), AuthorityError.intercepted("…")),
            (.json(400, #"{"error":"invalid_client"}"#), .oauthError("invalid_client")),
            (ServiceResponse(503), .unavailable(status: 503, retryAfter: nil)),
            (ServiceResponse(404), .unclear("…")),
        ])
    func revocation(_ response: ServiceResponse, _ expected: AuthorityError?) {
        let reading = ResponseParser(.revocation)
        #expect(kind(failure { try reading.acknowledgement(in: response) }) == expected)
    }

    @Test func `Keeps an error description without control characters`() {
        let response = ServiceResponse.json(
            400, #"{"error":"invalid_grant","error_description":"\u001b[31mexpired\r\n yesterday\u0007"}"#)
        let reading = ResponseParser(.token, sent: [Secret(canary)])
        #expect(
            failure { try reading.object(in: response) }
                == .oauthError("invalid_grant", description: "[31mexpired yesterday"))
    }

    @Test("Ignores an error description that is not a string")
    func descriptionOfAnotherType() {
        let response = ServiceResponse.json(400, #"{"error":"invalid_grant","error_description":{"a":1}}"#)
        #expect(
            failure { try ResponseParser(.token).object(in: response) }
                == .oauthError("invalid_grant", description: nil))
    }

    @Test("Keeps a registered error code that contains the user's password")
    func passwordInCode() {
        let reading = ResponseParser(.token, sent: [Secret("grant")])
        #expect(
            failure { try reading.object(in: .json(400, #"{"error":"invalid_grant","error_description":"no grant"}"#)) }
                == .oauthError("invalid_grant", description: nil))
    }

    /// A sign-in as a client sends its secret, which may be part of the error by chance.
    @Test(arguments: ["application/json", "application/x-www-form-urlencoded"])
    func `Shows a documented error code that contains the client's secret`(mediaType: String) {
        let error = "incorrect_client_credentials"
        let body =
            mediaType == "application/json"
            ? #"{"error":"\#(error)","error_description":"They are incorrect."}"#
            : "error=\(error)&error_description=They+are+incorrect."
        let response = ServiceResponse(200, ["Content-Type": mediaType], body)
        for secret in ["client", "c", canary] {
            let gitHub = ResponseParser(.token, sent: [Secret(secret)], quirks: KnownService.github.quirks)
            let description = secret == "c" ? nil : "They are incorrect."
            #expect(
                failure { try gitHub.credentials(in: response, for: "tool") }
                    == .oauthError("invalid_client", description: description))
        }
    }

    @Test(
        arguments: [
            ("application/json", #"{"error":"wrong_secret","error_description":"The secret is wrong."}"#, "secret"),
            ("application/json", #"{"error":{"message":"The secret is wrong."}}"#, canary),
            ("application/json", #"{"message":"The secret is wrong."}"#, canary),
            ("application/x-www-form-urlencoded", "error=wrong&error_description=The+secret+is+wrong.", canary),
        ])
    func `Shows what a response without a token says`(mediaType: String, body: String, secret: String) {
        let response = ServiceResponse(200, ["Content-Type": mediaType], body)
        let parser = ResponseParser(.token, sent: [Secret(secret)])
        guard case .unclear(let text)? = failure({ try parser.credentials(in: response, for: "tool") }) else {
            Issue.record("the failure is not unclear")
            return
        }
        // The explanation may not repeat a secret either.
        #expect(text.contains("The secret is wrong.") == (secret == canary), "\(text)")
    }

    @Test(
        arguments: [
            #"{"error":{"code":0},"message":{"access_token":"\#(canary)","token":"\#(canary)"}}"#,
            #"{"errors":[{"message":"\#(canary)"}],"detail":["\#(canary)"]}"#,
        ])
    func `Shows no part of a response that may contain a token in an unknown place`(body: String) {
        let failure = failure { try ResponseParser(.token).credentials(in: .json(200, body), for: "tool") }
        #expect(failure != nil && !"\(String(describing: failure))".contains(canary))
    }
}
