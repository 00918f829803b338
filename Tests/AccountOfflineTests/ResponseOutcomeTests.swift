#if Offline
import AccountKit
import Foundation
import HTTPTypes
import Testing

@testable import AccountOffline

/// The meaning of a response for a change, as a table.
struct ResponseOutcomeTests {
    private static let now = Date(timeIntervalSince1970: 1_000_000)

    private func outcome(
        _ kind: ChangeKind, _ status: Int, _ fields: [String: String] = [:], _ body: String = "{}"
    ) -> ResponseOutcome {
        var head = HTTPResponse(status: .init(code: status))
        for (name, value) in fields { head.headerFields[.init(name)!] = value }
        let data = Data((status == 204 ? "" : body).utf8)
        return ResponseOutcome(
            of: kind, head, data, answer: RemoteAnswer(json: head, data, to: kind), at: Self.now)
    }

    @Test(arguments: [
        (200, ResponseOutcome.done), (201, .done), (204, .done), (401, .signIn("401")),
        (404, .conflict("it no longer exists (404)")), (410, .conflict("it no longer exists (410)")),
        (409, .conflict("409")), (412, .conflict("412")), (400, .refused("400")), (422, .refused("422")),
        (403, .refused("403")), (429, .pause("429", .seconds(60))),
        (408, .later("408", wait: nil)), (421, .later("421", wait: nil)), (423, .later("423", wait: nil)),
        (425, .later("425", wait: nil)),
        (500, .unknown("500", wait: nil)), (502, .unknown("502", wait: nil)), (503, .unknown("503", wait: nil)),
        (504, .unknown("504", wait: nil)),
        (511, .later("another server responded (511): a captive portal or a proxy?", wait: nil)),
        (302, .unknown("another server responded (302): a captive portal or a proxy?", wait: nil)),
    ])
    func `Maps a response status to the outcome of an edit`(status: Int, expected: ResponseOutcome) {
        #expect(outcome(.update, status) == expected)
    }

    @Test
    func `Treats a missing item as deleted, but not as created`() {
        #expect(outcome(.delete, 404) == .done)
        #expect(outcome(.delete, 410) == .done)
        #expect(outcome(.create, 404) == .refused("404"))
        #expect(outcome(.create, 409) == .conflict("409"))
    }

    @Test func `Pauses all changes for the time that a rate limit requests`() {
        #expect(outcome(.update, 429, ["Retry-After": "7"]) == .pause("429", .seconds(7)))
        #expect(outcome(.update, 403, ["Retry-After": "7"]) == .pause("403", .seconds(7)))
        #expect(outcome(.update, 403, ["X-RateLimit-Remaining": "0"]) == .pause("403", .seconds(60)))
        let reset = ["x-ratelimit-remaining": "0", "x-ratelimit-reset": "1000090"]
        #expect(outcome(.update, 403, reset) == .pause("403", .seconds(90)))
        #expect(outcome(.update, 429, reset) == .pause("429", .seconds(90)))
        // A time that has passed by this clock, and an implausibly long one.
        let past = ["x-ratelimit-remaining": "0", "x-ratelimit-reset": "1"]
        #expect(outcome(.update, 403, past) == .pause("403", .seconds(1)))
        #expect(outcome(.update, 429, ["Retry-After": "9999999"]) == .pause("429", .seconds(86_400)))
        let words = #"{"message":"You have exceeded a secondary rate limit"}"#
        #expect(
            outcome(.update, 403, [:], words)
                == .pause("403: You have exceeded a secondary rate limit", .seconds(60)))
        #expect(outcome(.update, 403, ["x-ratelimit-remaining": "4999"]) == .refused("403"))
        #expect(outcome(.update, 503, ["Retry-After": "30"]) == .unknown("503", wait: .seconds(30)))
        #expect(outcome(.update, 408, ["Retry-After": "30"]) == .later("408", wait: .seconds(30)))
        #expect(outcome(.update, 503, ["Retry-After": "tomorrow"]) == .unknown("503", wait: nil))
    }

    @Test(arguments: [
        "You have exceeded a secondary rate limit", "API rate limit exceeded for user ID 1",
        "You have triggered an abuse detection mechanism. Please wait a few minutes before you try again.",
    ])
    func `Recognizes a rate limit by the service's message`(message: String) {
        #expect(
            outcome(.create, 403, [:], #"{"message":"\#(message)"}"#) == .pause("403: \(message)", .seconds(60)))
    }

    @Test(arguments: [408, 421, 423, 425])
    func `Checks first after a gateway's own answer that asks for a retry`(status: Int) {
        #expect(outcome(.create, status, [:], "<html>") == .unknown("\(status)", wait: nil))
        #expect(outcome(.create, status) == .later("\(status)", wait: nil))
    }

    private static let date = "Mon, 12 Jan 1970 13:46:40 GMT"

    /// The response has this date, which is `now`, or a date of the service that differs from it.
    @Test(
        arguments: [
            // A date in Retry-After, which is relative to the service's own date.
            (["Retry-After": "Mon, 12 Jan 1970 13:47:40 GMT"], 60), (["Retry-After": date], 1),
            // The time is over, or cannot be read.
            (["Retry-After": "0"], 1), (["Retry-After": "-5"], 1),
            (["Retry-After": "Mon, 12 Jan 1970 13:00:00 GMT"], 1), (["Retry-After": "soon"], 60),
            (["Retry-After": ""], 60),
            (["Retry-After": "Monday, 12-Jan-70 13:47:40 GMT"], 60),
            (["Date": "Mon, 12 Jan 1970 15:46:40 GMT", "Retry-After": "Mon, 12 Jan 1970 15:46:50 GMT"], 10),
            (["Date": "Mon, 12 Jan 1970 11:46:40 GMT", "Retry-After": "Mon, 12 Jan 1970 11:46:50 GMT"], 10),
            (["Date": date, "Retry-After": "Fri, 16 Jan 1970 13:46:40 GMT"], 86_400),
            (["Date": "yesterday", "Retry-After": "Mon, 12 Jan 1970 13:47:40 GMT"], 60),
            (["Retry-After": "1.5"], 2),
            // The end of a rate limit: this machine's clock is two hours behind, and two hours ahead.
            (
                [
                    "Date": "Mon, 12 Jan 1970 15:46:40 GMT", "X-RateLimit-Remaining": "0",
                    "X-RateLimit-Reset": "1007190",
                ], 1
            ),
            (
                [
                    "Date": "Mon, 12 Jan 1970 15:46:40 GMT", "X-RateLimit-Remaining": "0",
                    "X-RateLimit-Reset": "1007290",
                ], 90
            ),
            (
                ["Date": "Mon, 12 Jan 1970 11:46:40 GMT", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "992890"],
                90
            ),
            // Some services send the seconds to wait.
            (["Date": date, "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "90"], 90),
        ] as [([String: String], Int)])
    func `Measures a requested pause by the clock of the service`(fields: [String: String], seconds: Int) {
        #expect(outcome(.update, 429, fields) == .pause("429", .seconds(seconds)))
        #expect(outcome(.create, 403, fields, "<html>") == .pause("403", .seconds(seconds)))
    }

    @Test(
        arguments: [
            (200, "<html>Welcome</html>"), (200, ""), (200, "OK"), (201, "<html>"), (204, "x"), (206, "{}"),
            (203, "{}"),
            (404, "no route"), (404, "<html>"), (404, ""), (410, "gone"), (403, "blocked by policy"), (401, "<html>"),
            (409, "<html>"), (422, "bad"), (400, "Bad Request"), (302, ""), (307, "{}"),
        ])
    func `Treats a response in another form than the service's as no response`(status: Int, body: String) {
        for kind in [ChangeKind.create, .update, .delete, .star] {
            let head = HTTPResponse(status: .init(code: status))
            let answer = RemoteAnswer(json: head, Data(body.utf8), to: kind)
            #expect(answer == .foreign)
            let outcome = ResponseOutcome(of: kind, head, Data(body.utf8), answer: answer, at: Self.now)
            #expect("\(outcome)".hasPrefix("unknown(\"another server responded (\(status))"), "\(outcome)")
        }
    }

    @Test(arguments: ["Bearer realm=\"notes\"", "bearer", "DPoP algs=\"ES256\""])
    func `Recognizes a refused token by its challenge, without a body`(challenge: String) {
        #expect(outcome(.star, 401, ["WWW-Authenticate": challenge], "") == .signIn("401"))
        #expect(outcome(.star, 401, ["WWW-Authenticate": "Basic realm=\"proxy\""], "") != .signIn("401"))
    }

    @Test func `Includes the service's message in an outcome as one safe line`() {
        let body = "{\"message\":\"No\\nsuch \\u001b[31mthing\"}"
        #expect(outcome(.update, 422, [:], body) == .refused("422: No such [31mthing"))
        #expect(outcome(.update, 422, [:], #"{"message":"\#(String(repeating: "x", count: 500))"}"#).words.count < 220)
        #expect(outcome(.update, 422, [:], "[1]") == .refused("422"))
    }

    @Test(arguments: [
        (AccountError(.notSignedIn, "x") as any Error, "signIn"), (AccountError(.conflict, "x"), "signIn"),
        (AccountError(.stepUpRequired, "x"), "signIn"), (AccountError(.insufficientScope, "x"), "refused"),
        (NoteService.error(.refused), "later"), (NoteService.error(.unknownHost), "later"),
        (NoteService.error(.reset), "unknown"), (NoteService.error(.timeout), "unknown"),
        (NoteService.error(.init(.timeout, stage: .connection)), "later"),
        (AccountError(.serviceUnavailable, "x"), "unknown"), (AccountError(.requestRefused, "too long"), "unknown"),
        (AccountError(.tooLarge, "x"), "unknown"), (AccountError(.cancelled, "x"), "unknown"),
        (AccountError(.init(rawValue: "app's own"), "x"), "unknown"), (CancellationError(), "unknown"),
        (AccountError(.noKey, "x"), "later"), (AccountError(.busy, "x"), "later"),
        (AccountError(.inaccessible, "x"), "later"), (AccountError(.invalidArgument, "x"), "refused"),
        (AuthorityError.noResponse(.refused), "later"), (AuthorityError.noResponse(.reset), "unknown"),
        (AuthorityError.untrustedTLS("x"), "later"), (Notes.NotJSON(), "unknown"),
    ])
    func `Retries a change without a check only if no request was sent`(error: any Error, expected: String) {
        #expect("\(ResponseOutcome(error, from: Notes(), at: Date()))".hasPrefix(expected))
    }
}

extension ResponseOutcome {
    fileprivate var words: String {
        if case .refused(let words) = self { words } else { "" }
    }
}
#endif
