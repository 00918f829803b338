@testable import EndToEndSupport
import Foundation
import Testing

/// Signing in with a browser, at an authorization server that is not part of this project.
@Suite(.queued(minutes: 15))
struct BrowserTests {
    /// The user alice before her first sign-in, with a new browser.
    private struct Newcomer {
        let container: Container
        let account: Tool
        let issuer: String
        let browser: Browser

        var service: [String] { ["--client-id", "account-cli-code", "--issuer", issuer] }
    }

    private func run(
        holdingWhile hold: String? = nil, _ test: (Newcomer) async throws -> Void
    ) async throws {
        try await Container.run { container in
            let server = try await DjangoServer(in: container)
            let account = try Tool.account(in: container)
            try await server.run(holdingWhile: hold.map(container.path)) { issuer in
                try await Browser.run(in: container) { browser in
                    try await test(Newcomer(container: container, account: account, issuer: issuer, browser: browser))
                }
            }
        }
    }

    @Test func `Signs in on the service's page, and the result page shows success`() async throws {
        try await run { alice in
            let login = try await alice.account.logIn(
                with: alice.browser, following: DjangoPages.signIn() + DjangoPages.approve, alice.service)
            #expect(login.outcome.exitCode == 0, "\(login.outcome)")
            #expect(login.outcome.output == "")
            #expect(login.outcome.errors.hasSuffix("Signed in as alice at \(alice.issuer).\n"))

            #expect(login.page.title == "You are signed in")
            #expect(login.page.heading == "You are signed in")
            #expect(login.page.text.contains("Signed in as alice at \(alice.issuer)."))
            try await alice.browser.expectNothingSecret(after: login, of: alice.account)
            try await alice.browser.expectNothingElse(on: login.page)
            try await alice.browser.takePictures("signed-in")

            let name = try await alice.account("whoami", "--verify")
            #expect(name.exitCode == 0, "\(name)")
            #expect(name.output == "alice\n")
            #expect(try await alice.account("refresh").exitCode == 0)
        }
    }

    @Test func `Denying a browser sign-in changes no session`() async throws {
        try await run { alice in
            func refuse(_ steps: [Browser.Step]) async throws {
                let login = try await alice.account.logIn(with: alice.browser, following: steps, alice.service)
                #expect(login.outcome.exitCode == 77, "\(login.outcome)")
                #expect(login.outcome.output == "")
                #expect(login.outcome.errors.contains("access_denied"))
                #expect(login.page.address == login.address.result)
                #expect(login.page.title == "The sign-in was refused")
                #expect(login.page.heading == "The sign-in was refused")
                #expect(login.page.text.contains("you are not signed in"))
                try await alice.browser.expectNothingElse(on: login.page)
            }

            try await refuse(DjangoPages.signIn() + DjangoPages.deny)
            try await alice.browser.takePictures("refused")
            #expect(!alice.container.exists(alice.container.archive))
            #expect(try await alice.account("whoami").exitCode == 77)

            let signedIn = try await alice.account(
                "login", "--issuer", alice.issuer, "--username", "alice", "--password-stdin",
                input: DjangoServer.password + "\n")
            try #require(signedIn.exitCode == 0, "\(signedIn)")
            let before = try alice.container.entry(alice.container.archive)
            // From here on, the service recognizes the browser.
            try await refuse(DjangoPages.deny)
            #expect(try alice.container.entry(alice.container.archive) == before)
            #expect(try await alice.account("whoami", "--verify").output == "alice\n")
        }
    }

    @Test func `Rejects the response to another sign-in and continues to wait`() async throws {
        try await run { alice in
            let outcome = try await alice.account.logIn(alice.service) {
                let address = try AuthorizationAddress($0)
                // Without the correct state, a request can neither complete nor cancel the sign-in.
                for response in ["code=another&state=anothers", "error=access_denied&state=anothers", "code=another"] {
                    try await alice.browser.open(address.callback + "?" + response)
                    let page = try await alice.browser.resultPage()
                    #expect(page.title == "Wrong state")
                    #expect(page.text.contains("belongs to another sign-in"))
                    try await alice.browser.expectNothingElse(on: page)
                }
                try await alice.browser.open($0)
                try await alice.browser.follow(DjangoPages.signIn() + DjangoPages.approve)
                let page = try await alice.browser.resultPage()
                #expect(page.address == address.result)
                #expect(page.heading == "You are signed in")
            }
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(try await alice.account("whoami", "--verify").output == "alice\n")
        }
    }

    @Test func `Rejects a second redirect while the command processes the first`() async throws {
        try await run(holdingWhile: "hold") { alice in
            // The service holds the exchange of the first code until the second response has arrived.
            try alice.container.write([], to: alice.container.path("hold"))
            let outcome = try await alice.account.logIn(alice.service) { text in
                let address = try AuthorizationAddress(text)
                async let first: Browser.Page = {
                    try await alice.browser.open(text)
                    try await alice.browser.follow(DjangoPages.signIn() + DjangoPages.approve)
                    return try await alice.browser.resultPage()
                }()
                // Once the command stops responding with "Wrong state", it has accepted the first response.
                let deadline = ContinuousClock.now + .seconds(300)
                var second: HTTP.Response
                repeat {
                    second = try await HTTP.get(address.callback + "?code=another&state=anothers")
                } while second.text.contains("<h1>Wrong state</h1>") && ContinuousClock.now < deadline
                try #require(second.text.contains("<h1>Already used</h1>"))
                second = try await HTTP.get(address.callback + "?code=another&state=" + address.state)
                #expect(second.status == 400)
                #expect(second.text.contains("<h1>Already used</h1>"))

                try FileManager.default.removeItem(atPath: alice.container.path("hold"))
                #expect(try await first.heading == "You are signed in")
            }
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(try await alice.account("whoami", "--verify").output == "alice\n")
        }
    }

    @Test func `Neither waits for nor stops the browser at the path in BROWSER`() async throws {
        try await run { alice in
            let home = try #require(alice.account.environment["HOME"])
            let program = alice.container.path("open-page")
            let script = """
                #!/bin/sh
                ps -o comm= -p "$PPID" >"$HOME/parent"
                echo "$1" >"$HOME/address"
                exec cat "$HOME/closed"

                """
            try alice.container.write(script.utf8, to: program, permissions: 0o700)
            let fifo = try await Command(words: ["mkfifo", home + "/closed"]).run()
            try #require(fifo.exitCode == 0, "\(fifo)")

            var address = ""
            let outcome = try await alice.account.with("BROWSER", program).logIn(alice.service) {
                address = $0
                let written = home + "/address"
                try await waitUntil("the browser is started") {
                    (try? String(contentsOfFile: written, encoding: .utf8))?.hasSuffix("\n") == true
                }
                let page = try String(contentsOfFile: written, encoding: .utf8).dropLast()
                try #require(page.hasPrefix("file://"))
                try await alice.browser.open(String(page))
                try await alice.browser.follow(DjangoPages.signIn() + DjangoPages.approve)
                #expect(try await alice.browser.resultPage().heading == "You are signed in")
            }
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(address.hasPrefix(alice.issuer))
            // The command started the browser itself, without a desktop program in between.
            #expect(try String(contentsOfFile: home + "/parent", encoding: .utf8) == "account\n")
            // Opening the FIFO for writing fails unless the browser is still reading from it.
            let end = open(home + "/closed", O_WRONLY | O_NONBLOCK)
            #expect(end >= 0)
            close(end)
        }
    }
}
