import AccountKit
import BoundedWaiting
import Foundation
import NIOCore
import Testing

@testable import AccountHTTP
import AccountSupport

/// The redirect URI of a sign-in, and the URL that a user pastes if the browser could not reach it.
@Suite("The redirect URI of a browser sign-in")
struct RedirectURITests {
    private static let code = "code-0123456789"

    // MARK: Registered redirect URIs

    private func authority(redirectURI: String) throws -> OAuthAuthority {
        try OAuthAuthority(
            issuer: "http://127.0.0.1:1", clientID: "tool", scopes: [],
            options: OAuthRequestOptions(redirectURI: redirectURI),
            endpoints: OAuthEndpoints(token: "http://127.0.0.1:1/token", authorization: "http://127.0.0.1:1/authorize"),
            clock: FixedClock())
    }

    @Test(
        "Listens on the registered port and path twice in immediate succession",
        arguments: ["/a/b", "/done", ""])
    func registered(_ path: String) async throws {
        let port = try FreePort.find()
        for _ in 0..<2 {
            let redirectURI = "http://127.0.0.1:\(port)\(path)"
            let signIn = try await authority(redirectURI: redirectURI).beginBrowserSignIn(deliveryTime: .seconds(600))
            let visit = try BrowserVisit(signIn.url)
            #expect(visit.query["redirect_uri"] == redirectURI)
            #expect(try await RawClient.get("/callback?code=a&state=\(visit.state)", port: port).status == 404)
            let wait = Task { try await signIn.waitForResponse() }
            let target = path.isEmpty ? "/" : path
            let redirect = try await RawClient.get("\(target)?code=\(Self.code)&state=\(visit.state)", port: port)
            #expect(redirect.status == 303)
            try await wait.value
            let page = Task { try await RawClient.get(redirect.value(of: "Location") ?? "", port: port) }
            await signIn.finish(with: .failure(AuthorityError.signInRefused("enough")))
            #expect(try await page.value.body.contains("enough"))
        }
    }

    // MARK: The listener

    @Test func `Closes a browser connection that sends no complete request`() async throws {
        let receiver = RedirectReceiver(expecting: "state")
        let listener = try await LoopbackListener.open(for: receiver, requestTime: .milliseconds(10))
        for text in ["", "GET /done HTTP/1.1\r\n"] {
            do {
                let connection = try await RawClient.connect(text, port: listener.port)
                let end: Void? = try await withDeadline(.now + .seconds(180)) { try await connection.closeFuture.get() }
                #expect(end != nil)
            } catch ChannelError.ioOnClosedChannel {
                // The listener closed the connection before the client wrote.
            }
        }
        await listener.close()
    }

    @Test func `Listens on both addresses of localhost for a redirect to localhost`() async throws {
        try await LoopbackServer.run(host: "::1", port: FreePort.find()) { _, _ in
            .stall
        } _: { other in
            let receiver = RedirectReceiver(expecting: "state")
            let listener = try await LoopbackListener.open(for: receiver, host: "localhost", firstPort: other.port)
            try #require(listener.port != other.port)
            for address in ["127.0.0.1", "::1"] {
                #expect(try await RawClient.get("/", port: listener.port, at: address).status == 404)
            }
            #expect(await !RawClient.isOpen(other.port))
            await listener.close()
            // The redirect URI contains the address itself.
            let single = try await LoopbackListener.open(for: receiver, firstPort: other.port)
            #expect(single.port == other.port)
            await single.close()
        }
    }

    @Test(arguments: [("::1", "127.0.0.1"), ("127.0.0.1", "::1")])
    func `Refuses a registered port on localhost that another program has`(taken: String, free: String) async throws {
        try await LoopbackServer.run(host: taken, port: FreePort.find()) { _, _ in
            .stall
        } _: { other in
            let authority = try authority(redirectURI: "http://localhost:\(other.port)/callback")
            let error = await #expect(throws: AccountError.self) {
                try await authority.beginBrowserSignIn(deliveryTime: .zero)
            }
            #expect(error?.code == .inaccessible)
            #expect(error?.message.contains("another program is using port \(other.port) of \(taken)") == true)
            #expect(await !RawClient.isOpen(other.port, at: free))
        }
    }

    // MARK: Pasted URLs

    @Test("Refuses a pasted URL other than the redirect URL, and keeps waiting")
    func wronglyPasted() async throws {
        let signIn = try await OAuthAuthority.testBrowser("http://127.0.0.1:1").beginBrowserSignIn(deliveryTime: .zero)
        let visit = try BrowserVisit(signIn.url)
        let redirectURI = try #require(visit.query["redirect_uri"])
        let answer = "code=\(Self.code)&state=\(visit.state)"
        let others = [
            "", "no address", Self.code, signIn.url, "https://127.0.0.1:\(visit.port)/callback?\(answer)",
            "http://localhost:\(visit.port)/callback?\(answer)",
            "http://127.0.0.1:\(visit.port + 1)/callback?\(answer)",
            "http://127.0.0.1:\(visit.port)/other?\(answer)", redirectURI,
            "\(redirectURI)?code=a&code=b&state=\(visit.state)",
            "\(redirectURI)?code=\(Self.code)", "\(redirectURI)?code=\(Self.code)&state=wrong",
        ]
        for text in others {
            let error = #expect(throws: AccountError.self, "\(text)") { try signIn.receive(text) }
            #expect(error?.code == .invalidArgument)
            #expect(error.map { "\($0)" + String(reflecting: $0) }?.contains(Self.code) == false)
        }
        let wait = Task { try await signIn.waitForResponse() }
        try signIn.receive("\(redirectURI)?\(answer)")
        try await wait.value
        // The same URL again changes nothing.
        try signIn.receive("\(redirectURI)?\(answer)")
        #expect(throws: AccountError.self) { try signIn.receive("\(redirectURI)?code=other&state=\(visit.state)") }
        await signIn.finish(with: .failure(CancellationError()))
    }

    /// What terminals, messengers and mail programs do to an address. URL stands for the address, and QUERY for its query.
    @Test(arguments: [
        "URL", "  URL \r", "\"URL\"", "'URL'", "<URL>", "“URL”", "`URL`", "\u{FEFF}URL\u{200B}", "\u{A0}URL",
        "view-source:URL", "URL: URL", "QUERY", "?QUERY", "HOST?QUERY", "HTTP://HOST?QUERY", "URL#_=_", "SPLIT", "AMP",
    ])
    func `Accepts a pasted address in any form`(form: String) async throws {
        let signIn = try await OAuthAuthority.testBrowser("http://127.0.0.1:1").beginBrowserSignIn(deliveryTime: .zero)
        let visit = try BrowserVisit(signIn.url)
        let redirectURI = try #require(visit.query["redirect_uri"])
        let answer = "code=\(Self.code)&state=\(visit.state)"
        let url = "\(redirectURI)?\(answer)"
        var text = form
        let values = [
            ("SPLIT", url.split(separator: "-").joined(separator: "-\n  ")), ("AMP", url.replacing("&", with: "&amp;")),
            ("HOST", redirectURI.replacing("http://", with: "")), ("QUERY", answer),
        ]
        for (name, value) in values { text = text.replacing(name, with: value) }
        text = text == "URL: URL" ? "URL: \(url)" : text.replacing("URL", with: url)
        let wait = Task { try await signIn.waitForResponse() }
        try signIn.receive(text)
        try await wait.value
        await signIn.finish(with: .failure(CancellationError()))
    }

    @Test func `Says that a code alone is not an address`() async throws {
        let signIn = try await OAuthAuthority.testBrowser("http://127.0.0.1:1").beginBrowserSignIn(deliveryTime: .zero)
        let error = #expect(throws: AccountError.self) { try signIn.receive("4/0AbCd-ef") }
        #expect(error?.message.contains("not the URL") == true)
        let part = #expect(throws: AccountError.self) { try signIn.receive("AbCdef") }
        #expect(part?.message.contains("only a part of one") == true)
        await signIn.finish(with: .failure(CancellationError()))
    }
}
