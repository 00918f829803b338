@testable import EndToEndSupport
import Foundation
import Testing

/// A sign-in that replaces another session, whose tokens AccountKit revokes. `SignInTests` and `RevocationTests` test the
/// queue of revocations.
@Suite(.queued)
struct ReplacedSignInTests {
    private func logIn(_ account: Tool, as username: String, _ arguments: [String] = []) async throws {
        let password = username == "alice" ? ExampleServer.alicePassword : ExampleServer.bobPassword
        let outcome = try await account.run(
            ["login", "--username", username, "--password-stdin"] + arguments, input: password + "\n")
        #expect(outcome.exitCode == 0, "\(outcome)")
    }

    // MARK: Asking

    @Test func `Names the replaced user, and explains how to keep both sessions`() async throws {
        try await SignedInUser.run { user in
            let words = ["login", "--username", "bob", "--password-stdin"]
            let outcome = try await user.account.run(words, input: ExampleServer.bobPassword + "\n")
            #expect(outcome.exitCode == 0 && outcome.output == "", "\(outcome)")
            let note = "bob replaces alice at \(user.server.issuer) in session default."
            #expect(outcome.errors.contains(note), "\(outcome)")
            #expect(outcome.errors.contains("`account login --session NAME`"), "\(outcome)")
            #expect(outcome.errors.hasSuffix("Signed in as bob at \(user.server.issuer).\n"), "\(outcome)")

            struct Document: Decodable {
                struct Part: Decodable { let username: String }
                let account: Part
                let replaced: Part?
            }
            let alice = ["login", "--username", "alice", "--password-stdin", "--json"]
            let json = try await user.account.run(alice, input: ExampleServer.alicePassword + "\n")
            let document = try json.document(Document.self)
            #expect(document.account.username == "alice" && document.replaced?.username == "bob", "\(json)")
            #expect(json.errors.contains("alice replaces bob"), "\(json)")
            // A sign-in of the same user does not replace another user.
            let again = try await user.account.run(alice, input: ExampleServer.alicePassword + "\n")
            #expect(try again.document(Document.self).replaced == nil && again.errors == "", "\(again)")
        }
    }

    /// Signs bob in at a terminal while alice is signed in, up to the question whether to replace alice.
    private func logInAsBob(_ user: SignedInUser, _ steps: Terminal.Step...) async throws -> Terminal.Session {
        try await Terminal.run(
            user.account.command(["login", "--username", "bob"]),
            [
                .wait("Password for bob: "), .silent, .type(ExampleServer.bobPassword), .enter,
                .wait("alice at \(user.server.issuer) is signed in to session default"),
                .wait("Replace this account with bob? [y/N] "),
            ] + steps)
    }

    @Test func `Asks at a terminal before a sign-in replaces another user`() async throws {
        try await SignedInUser.run(serverOptions: ExampleServer.eachTokenByItself) { user in
            let session = try await logInAsBob(user, .type("y"), .enter)
            #expect(session.exitCode == 0, "\(session)")
            #expect(try await user.account("whoami", "--verify").output == "bob\n")
            #expect(try await user.server.liveTokens(of: "alice") == [])
            #expect(try await user.account("sessions").output.split(separator: "\n").count == 2)
        }
    }

    @Test func `Offers a new session that keeps both users signed in`() async throws {
        try await SignedInUser.run(serverOptions: ExampleServer.eachTokenByItself) { user in
            try await user.signIn(session: "taken")
            let session = try await logInAsBob(
                user, .type("n"), .enter, .wait("new session"), .type("no/name"), .enter,
                .wait("is not a valid session name"), .wait("new session"), .type("taken"), .enter,
                .wait("alice is signed in to session taken"), .wait("new session"), .type("bobs"), .enter)
            #expect(session.exitCode == 0, "\(session)")
            #expect(session.screen.contains("Signed in as bob at \(user.server.issuer) (session bobs)."), "\(session)")
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
            #expect(try await user.account("whoami", "--verify", "--session", "taken").output == "alice\n")
            #expect(try await user.account("whoami", "--verify", "--session", "bobs").output == "bob\n")
            // The new session remembers its service.
            #expect(try await user.account("refresh", "--session", "bobs").exitCode == 0)
            let login = ["login", "--session", "bobs", "--username", "bob", "--password-stdin"]
            let again = try await user.account.run(login, input: ExampleServer.bobPassword + "\n")
            #expect(again.exitCode == 0, "\(again)")
        }
    }

    @Test func `Keeps the old user and revokes the new tokens after no or Ctrl-C`() async throws {
        try await SignedInUser.run(serverOptions: ExampleServer.eachTokenByItself) { user in
            let session = try await logInAsBob(user, .enter, .wait("new session"), .enter)
            #expect(session.exitCode == 130, "\(session)")
            #expect(session.screen.contains("alice is still signed in"), "\(session)")
            let cancelled = try await logInAsBob(user, .controlC)
            #expect(cancelled.exitCode == 130, "\(cancelled)")
            #expect(cancelled.echo)
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
            #expect(try await user.account("refresh").exitCode == 0)
            #expect(try await user.server.liveTokens(of: "bob") == [])
            #expect(try await user.account("sessions").output.split(separator: "\n").count == 2)
        }
    }

    @Test func `Asks before a sign-in on another device replaces the user`() async throws {
        let options = ExampleServer.eachTokenByItself + ["--device-interval", "1"]
        try await SignedInUser.run(serverOptions: options) { user in
            let shown = user.container.path("shown")
            async let session = Terminal.run(
                user.account.command(["login", "--device"]), .find("[A-Z]{4}-[A-Z]{4}"), .tell(shown),
                .wait("Replace this account with bob? [y/N] "), .enter, .wait("new session"), .type("bobs"), .enter)
            try await waitUntil("the code is shown") { user.container.exists(shown) }
            let screen = try String(contentsOfFile: shown, encoding: .utf8)
            let code = try #require(screen.firstMatch(of: /[A-Z]{4}-[A-Z]{4}/)).output
            try await user.server.decide(
                "approve", String(code), username: "bob", password: ExampleServer.bobPassword)
            let end = try await session
            #expect(end.exitCode == 0, "\(end)")
            // The countdown does not overwrite the question.
            let question = try #require(end.screen.firstRange(of: "Replace this"))
            #expect(!end.screen[question.upperBound...].contains("Waiting:"), "\(end)")
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
            #expect(try await user.account("whoami", "--verify", "--session", "bobs").output == "bob\n")
        }
    }

    // MARK: Revoking

    @Test func `logout revokes the tokens of the user's replaced sign-ins`() async throws {
        try await SignedInUser.run(serverOptions: ExampleServer.eachTokenByItself) { user in
            let before = try await user.account.storedToken()
            try await logIn(user.account, as: "alice")
            #expect(try await user.account("whoami", "--verify").exitCode == 0)
            #expect(try await user.server.accepts(before))
            #expect(try await user.server.log()["/oauth/revoke"] == 0)
            let status = try await user.account("status")
            #expect(status.output.contains("will be revoked at \(user.server.issuer) when you sign out"), "\(status)")

            #expect(try await user.account("logout").exitCode == 0)
            #expect(try await user.server.liveTokens(of: "alice") == [])
            #expect(try await !user.account("status").output.contains("Revocation"))
        }
    }

    @Test func `Signing in at another service revokes tokens at the old service`() async throws {
        try await SignedInUser.run(serverOptions: ExampleServer.eachTokenByItself) { user in
            try await ExampleServer.run { other in
                try await logIn(user.account, as: "alice", ["--issuer", other.issuer])
                #expect(try await user.server.liveTokens(of: "alice") == [])
                #expect(try await other.log()["/oauth/revoke"] == 0)
                #expect(try await user.account("whoami", "--verify").output == "alice\n")
            }
        }
    }

    @Test func `Skips a revocation that would end the user's new session`() async throws {
        try await Container.run { container in
            let options = ["--service", "google", "--device-interval", "1"]
            try await ExampleServer.run(options + ["--demo-user", "carol:secret"]) { server in
                let account = try Tool.account(in: container).with("ACCOUNT_CLIENT_SECRET", "account-secret")
                func logIn(as username: String, _ password: String) async throws {
                    let words = ["login", "--device", "--service", "google", "--client-id", "account-cli"]
                    let outcome = try await account.command(words + ["--issuer", server.issuer]).whileRunning { login in
                        let code = try await login.errors.match {
                            $0.firstMatch(of: /\n +([A-Z]{4}-[A-Z]{4})\n/).map { String($0.1) }
                        }
                        try await server.decide("approve", code, username: username, password: password)
                    }
                    #expect(outcome.exitCode == 0, "\(outcome)")
                }
                try await logIn(as: "alice", ExampleServer.alicePassword)
                try await logIn(as: "alice", ExampleServer.alicePassword)
                #expect(try await account("whoami", "--verify").output.hasPrefix("alice"))
                #expect(try await server.log()["/oauth/revoke"] == 0)
                try await logIn(as: "carol", "secret")
                #expect(try await server.log()["/oauth/revoke"] > 0)
                #expect(try await account("whoami", "--verify").output.hasPrefix("carol"))
            }
        }
    }
}
