@testable import EndToEndSupport
import Testing

/// Several sessions in one container. `SessionNameTests` has the tables of names.
@Suite(.queued)
struct SessionsTests {
    /// Runs a test with alice in the default session and bob in the session `work`.
    private func run(_ test: (SignedInUser) async throws -> Void) async throws {
        try await SignedInUser.run { user in
            let outcome = try await user.account(
                "login", "--issuer", user.server.issuer, "--username", "bob", "--password-stdin", "--session", "work",
                input: ExampleServer.bobPassword + "\n")
            try #require(outcome.exitCode == 0, "\(outcome)")
            try await user.server.clearLog()
            try await test(user)
        }
    }

    @Test func `--session overrides ACCOUNT_SESSION, which overrides switch`() async throws {
        try await run { user in
            let name = { (account: Tool, arguments: [String]) in
                try await account.run(["whoami", "--offline"] + arguments).output
            }
            #expect(try await name(user.account, []) == "alice\n")
            #expect(try await name(user.account, ["--session", "work"]) == "bob\n")
            #expect(try await name(user.account.with("ACCOUNT_SESSION", "work"), []) == "bob\n")
            #expect(try await name(user.account.with("ACCOUNT_SESSION", ""), []) == "alice\n")

            let switched = try await user.account("switch", "work")
            #expect(switched.exitCode == 0)
            #expect(switched.output == "")
            #expect(switched.errors == "The default session is now work, signed in as bob.\n")
            #expect(try await name(user.account, []) == "bob\n")
            #expect(try await name(user.account.with("ACCOUNT_SESSION", "default"), []) == "alice\n")
            #expect(
                try await name(user.account.with("ACCOUNT_SESSION", "work"), ["--session", "default"]) == "alice\n")
            #expect(try await user.account("whoami", "--json").document().session == "work")
        }
    }

    @Test func `Lists the sessions, marks the default one, and signs out of one only`() async throws {
        try await run { user in
            let text = try await user.account("sessions")
            #expect(text.exitCode == 0)
            let lines = text.output.split(separator: "\n")
            #expect(lines.count == 3)
            #expect(lines.first?.hasPrefix("  SESSION  USER ") == true)
            #expect(lines[1].hasPrefix("* default  alice  \(user.server.issuer)  signed in"))
            #expect(lines[2].hasPrefix("  work     bob    "))

            _ = try await user.account("switch", "work")
            let archive = try user.container.entry(user.container.archive(of: "work"))
            let logout = try await user.account("logout", "--session", "default")
            #expect(logout.errors.hasPrefix("Signed out alice"), "\(logout)")
            #expect(try user.container.entry(user.container.archive(of: "work")) == archive)
            #expect(try await user.account("whoami", "--verify").output == "bob\n")
            #expect(try await user.account("whoami", "--session", "default").exitCode == 77)
            struct Document: Decodable {
                struct Part: Decodable, Equatable { let session: String, state: String, isDefault: Bool }
                let sessions: [Part]
            }
            let document = try await user.account("sessions", "--json").document(Document.self)
            #expect(document.sessions.contains(.init(session: "work", state: "unverified", isDefault: true)))
            #expect(!document.sessions.contains { $0.session == "default" && $0.state == "unverified" })
        }
    }

    @Test func `The advice to sign in names the session`() async throws {
        try await run { user in
            let commands = [["whoami"], ["token"], ["exec", "env"]]
            // The option must come before the command of `exec`.
            func expectAdvice(_ advice: String, _ account: Tool, _ session: String...) async throws {
                for command in commands {
                    let outcome = try await account.run(Array(command.prefix(1) + session + command.dropFirst()))
                    #expect(outcome.exitCode == 77, "\(outcome)")
                    #expect((outcome.output + outcome.errors).contains(advice), "\(outcome)")
                }
            }
            try await expectAdvice("`account login --session other`", user.account, "--session", "other")
            try await expectAdvice("`account login --session other`", user.account.with("ACCOUNT_SESSION", "other"))
            _ = try await user.account("logout")
            try await expectAdvice("`account login`", user.account)
            // If another session is the default session, the advice must name `default`, too.
            #expect(try await user.account("switch", "work").exitCode == 0)
            try await expectAdvice("`account login --session default`", user.account, "--session", "default")
            try await expectAdvice("`account login --session=-x`", user.account, "--session=-x")
        }
    }

    @Test func `An archive copied from another session cannot be opened`() async throws {
        try await run { user in
            let alice = try #require(try user.container.entry(user.container.archive))
            try user.container.write(alice.bytes, to: user.container.archive(of: "work"))
            let outcome = try await user.account("whoami", "--session", "work", "--json")
            #expect(outcome.exitCode == 65)
            #expect(try outcome.document().reason == "wrongKeyOrDamaged")
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
        }
    }

    @Test func `Rejects an invalid session name with 64 and creates nothing`() async throws {
        try await SignedInUser.run { user in
            let before = try user.container.contents()
            for name in ["", "../default", "a\n"] {
                let login = try await user.account(
                    "login", "--issuer", user.server.issuer, "--username", "alice", "--password-stdin",
                    "--session=\(name)", input: ExampleServer.alicePassword + "\n")
                #expect(login.exitCode == 64, "\(login)")
                #expect(login.errors.contains(name.isEmpty ? "--session" : "is not a valid session name"), "\(login)")
                #expect(try await user.account("switch", name).exitCode == 64)
                // Spaces and line breaks around the value of a variable have no meaning.
                if name.first?.isLetter == false {
                    #expect(try await user.account.with("ACCOUNT_SESSION", name)("whoami").exitCode == 64)
                }
            }
            #expect(try user.container.contents() == before)
            #expect(try await user.server.log().requests == [])

            let login = try await user.account(
                "login", "--issuer", user.server.issuer, "--username", "bob", "--password-stdin", "--session=-",
                input: ExampleServer.bobPassword + "\n")
            #expect(login.exitCode == 0, "\(login)")
            #expect(user.container.exists(user.container.archive(of: "-")))
            #expect(try await user.account("whoami", "--session=-").output == "bob\n")
        }
    }
}
