import AccountSupport
import AccountKit
import FoundationEssentials
import AccountCrypto
import Testing

@testable import AccountHTTP

@Suite("The result page")
struct ResultPageTests {
    @Test(
        "Shows the outcome and the next step on the result page, without external resources",
        arguments: [
            (.signedIn(user: "jane", issuer: "https://id.example"), "as <strong>jane</strong> at https://id.example."),
            (.refused(nil), "declined"), (.refused("No thanks"), "No thanks"), (.failed("why"), "why"),
            (.wrongState, "Wrong state"), (.usedBefore, "already used"), (.notFound, "page does not exist"),
            (.badRequest, "request does not belong"),
        ] as [(ResultPage, String)])
    func words(_ page: ResultPage, _ words: String) {
        #expect(page.html.contains(words))
        #expect(page.html.hasPrefix("<!DOCTYPE html>"))
        #expect(page.html.contains("You can close this window and go back to the terminal."))
        #expect(page.html.contains(#"<meta name="viewport" content="width=device-width, initial-scale=1">"#))
        #expect(page.html.contains("prefers-color-scheme: dark"))
        for other in ["<script", "<link", "<img", "<iframe", "<form", "url(", "@import", "src=", "href=", " onload"] {
            #expect(!page.html.contains(other))
        }
    }

    @Test("Escapes all external text on the result page")
    func escaping() {
        let evil = #"<script>alert('1')</script>&"quoted""#
        let safe = "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;&quot;quoted&quot;"
        for page in [ResultPage.signedIn(user: evil, issuer: evil), .refused(evil), .failed(evil)] {
            #expect(page.html.contains(safe))
            #expect(!page.html.contains("<script"))
            #expect(!page.html.contains(evil))
        }
        #expect(HTMLPage.escaped("e\u{301}<\u{301}") == "e\u{301}&lt;\u{301}")
    }

    @Test("Allows only the result page's own style in the content policy")
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
        "Describes a failure on the result page in plain words",
        arguments: [
            (.oauthError("access_denied"), .refused(nil)),
            (.oauthError("access_denied", description: "No."), .refused("No.")),
            (
                .oauthError("invalid_grant", description: "Old"),
                .failed("the service reports that the sign-in has expired or was already used (Old)")
            ),
            (.oauthError("odd"), .failed("the service responded with odd")),
            (.oauthError("odd", description: canary), .failed("the service returned an unexpected response")),
            (.noResponse(.timeout), .failed("the service did not respond in time")),
            (.noResponse(.init(.refused, host: "h", port: 1)), .failed("the connection to h:1 was refused")),
            (.unclear("a\u{1B}[2Jb"), .failed("a[2Jb")),
            (.unclear("x \(canary)"), .failed("the service returned an unexpected response")),
            (.otherUser(id: canary), .failed("the service returned contradictory information about the user")),
        ] as [(AuthorityError, ResultPage)])
    func outcome(_ failure: AuthorityError, _ page: ResultPage) {
        #expect(ResultPage(failure, hiding: [Secret(canary)]) == page)
    }

    @Test(
        "Shows the user name or else the id, but no token",
        arguments: [("jane", "jane"), (nil, "42"), (" \u{202E} ", "42"), (canary, "42")] as [(String?, String)])
    func user(_ username: String?, _ shown: String) {
        var account = account(at: "https://id.example", id: "42")
        account.username = username
        #expect(
            ResultPage(signedIn: account, hiding: []) == .signedIn(user: shown, issuer: "https://id.example"))
    }
}
