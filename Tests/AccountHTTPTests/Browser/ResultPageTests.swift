import AccountKit
import FoundationEssentials
import AccountCrypto
import Testing

@testable import AccountHTTP

@Suite("The page at the end")
struct ResultPageTests {
    static let all: [ResultPage] = [
        .signedIn(user: "jane", issuer: "https://id.example"), .refused(nil), .refused("No thanks"), .failed("why"),
        .wrongState, .usedBefore, .notFound, .badRequest,
    ]

    @Test("It says what to do next, and holds no script and nothing from outside", arguments: all)
    func form(_ page: ResultPage) {
        #expect(page.html.hasPrefix("<!DOCTYPE html>"))
        #expect(page.html.contains("You can close this window and go back to the terminal."))
        #expect(page.html.contains(#"<meta name="viewport" content="width=device-width, initial-scale=1">"#))
        #expect(page.html.contains("prefers-color-scheme: dark"))
        for other in ["<script", "<link", "<img", "<iframe", "<form", "url(", "@import", "src=", "href=", " on"] {
            #expect(!page.html.contains(other) || other == " on" && !page.html.contains(" onload"))
        }
    }

    @Test(
        "It says what happened",
        arguments: zip(
            all,
            [
                "Signed in as <strong>jane</strong> at https://id.example.", "said no", "No thanks", "why",
                "Wrong state",
                "used already", "no such page", "not a request",
            ]))
    func words(_ page: ResultPage, _ words: String) {
        #expect(page.html.contains(words))
    }

    @Test("Everything from outside is text, not HTML")
    func escaping() {
        let evil = #"<script>alert('1')</script>&"quoted""#
        let safe = "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;&quot;quoted&quot;"
        for page in [ResultPage.signedIn(user: evil, issuer: evil), .refused(evil), .failed(evil)] {
            #expect(page.html.contains(safe))
            #expect(!page.html.contains("<script"))
            #expect(!page.html.contains(evil))
        }
        #expect(ResultPage.escaped("e\u{301}<\u{301}") == "e\u{301}&lt;\u{301}")
    }

    @Test("The policy lets in the page's own style and nothing else")
    func policy() throws {
        let html = ResultPage.wrongState.html
        let start = try #require(html.firstRange(of: "<style>")).upperBound
        let end = try #require(html.firstRange(of: "</style>")).lowerBound
        let hash = Data(Sodium.sha256(html[start..<end].utf8)).base64EncodedString()
        let policy = ResultPage.headers.first { $0.name == "Content-Security-Policy" }?.value
        #expect(
            policy
                == "default-src 'none'; style-src 'sha256-\(hash)'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
    }

    @Test(
        "A failure becomes words that a person understands",
        arguments: [
            (.oauthError(.accessDenied), .refused(nil)),
            (.oauthError(.accessDenied, description: "No."), .refused("No.")),
            (
                .oauthError(.invalidGrant, description: "Old"),
                .failed("the service says that the sign-in has expired or was used before (Old)")
            ),
            (.oauthError("odd"), .failed("the service responded with odd")),
            (.oauthError("odd", description: canary), .failed("the service gave an unexpected response")),
            (.noResponse(.timeout), .failed("the service did not respond in time")),
            (.noResponse(.init(.refused, host: "h", port: 1)), .failed("connection to h:1 was refused")),
            (.unclear("a\u{1B}[2Jb"), .failed("a[2Jb")),
            (.unclear("x \(canary)"), .failed("the service gave an unexpected response")),
            (.otherUser(id: canary), .failed("the service contradicts itself about who signed in")),
        ] as [(AuthorityError, ResultPage)])
    func outcome(_ failure: AuthorityError, _ page: ResultPage) {
        #expect(ResultPage(failure, hiding: [Secret(canary)]) == page)
    }

    @Test(
        "The user is shown by name, else by id, and never if a token stands in it",
        arguments: [("jane", "jane"), (nil, "42"), (" \u{202E} ", "42"), (canary, "42")] as [(String?, String)])
    func user(_ username: String?, _ shown: String) {
        var account = account(at: "https://id.example", id: "42")
        account.username = username
        #expect(
            ResultPage(signedIn: account, hiding: []) == .signedIn(user: shown, issuer: "https://id.example"))
    }
}
