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
        _ kind: ChangeKind, _ status: Int, _ fields: [String: String] = [:], _ body: String = ""
    ) -> ResponseOutcome {
        var head = HTTPResponse(status: .init(code: status))
        for (name, value) in fields { head.headerFields[.init(name)!] = value }
        return ResponseOutcome(of: kind, head, Data(body.utf8), at: Self.now)
    }

    @Test(arguments: [
        (200, ResponseOutcome.done), (201, .done), (204, .done), (401, .signIn("401")),
        (404, .conflict("it no longer exists (404)")), (410, .conflict("it no longer exists (410)")),
        (409, .conflict("409")), (412, .conflict("412")), (400, .refused("400")), (422, .refused("422")),
        (403, .refused("403")), (429, .pause("429", .seconds(60))),
        (408, .later("408", wait: nil)), (425, .later("425", wait: nil)),
        (500, .unknown("500", wait: nil)), (502, .unknown("502", wait: nil)), (503, .unknown("503", wait: nil)),
        (504, .unknown("504", wait: nil)), (511, .later("another server responded (511)", wait: nil)),
        (302, .later("another server responded (302)", wait: nil)),
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

    @Test func `Includes the service's message in an outcome as one safe line`() {
        let body = "{\"message\":\"No\\nsuch \\u001b[31mthing\"}"
        #expect(outcome(.update, 422, [:], body) == .refused("422: No such [31mthing"))
        #expect(outcome(.update, 422, [:], #"{"message":"\#(String(repeating: "x", count: 500))"}"#).words.count < 220)
        #expect(outcome(.update, 422, [:], "<html>") == .refused("422"))
    }

    @Test(arguments: [
        (AccountError(.notSignedIn, "x") as any Error, "signIn"), (AccountError(.conflict, "x"), "signIn"),
        (AccountError(.stepUpRequired, "x"), "signIn"), (AccountError(.insufficientScope, "x"), "refused"),
        (NoteService.error(.refused), "later"), (NoteService.error(.unknownHost), "later"),
        (NoteService.error(.reset), "unknown"), (NoteService.error(.timeout), "unknown"),
        (NoteService.error(.init(.timeout, stage: .connection)), "later"),
        (AccountError(.serviceUnavailable, "x"), "unknown"), (AccountError(.requestFailed, "too long"), "unknown"),
        (AccountError(.tooLarge, "x"), "unknown"), (AccountError(.cancelled, "x"), "unknown"),
        (AccountError(.init(rawValue: "app's own"), "x"), "unknown"), (CancellationError(), "unknown"),
        (AccountError(.noKey, "x"), "later"), (AccountError(.busy, "x"), "later"),
        (AccountError(.inaccessible, "x"), "later"), (AccountError(.invalidArgument, "x"), "later"),
        (AuthorityError.noResponse(.refused), "later"), (AuthorityError.noResponse(.reset), "unknown"),
        (AuthorityError.untrustedTLS("x"), "later"), (Notes.NotJSON(), "unknown"),
    ])
    func `Retries a change without a check only if no request was sent`(error: any Error, expected: String) {
        #expect("\(ResponseOutcome(error, of: .update, at: Date()))".hasPrefix(expected))
    }
}

extension ResponseOutcome {
    fileprivate var words: String {
        if case .refused(let words) = self { words } else { "" }
    }
}
#endif
