import Testing

/// A sign-in in place of another one: what it replaced does not live on.
@Suite(.queued)
struct ReplacedSignInTests {
    private func logIn(_ account: Tool, as username: String, _ arguments: [String] = []) async throws {
        let password = username == "alice" ? ExampleServer.alicePassword : ExampleServer.bobPassword
        let outcome = try await account.run(
            ["login", "--username", username, "--password-stdin"] + arguments, input: password + "\n")
        #expect(outcome.exitCode == 0, "\(outcome)")
    }

    @Test func `Another user's sign-in revokes both tokens of the one before`() async throws {
        try await SignedInUser.run(serverOptions: ExampleServer.eachTokenByItself) { user in
            try await logIn(user.account, as: "bob")
            #expect(try await user.server.liveTokens(of: "alice") == [])
            #expect(try await user.account("whoami", "--verify").output == "bob\n")
            #expect(try await user.account("refresh").exitCode == 0)
        }
    }

    @Test func `The same user's sign-in revokes the one before, where that is known to end no other`() async throws {
        try await Container.run { container in
            try await ExampleServer.run(["--quirks", "gitlab", "--revocation-ends", "token"]) { server in
                let account = try Tool.account(in: container)
                let service = ["--service", "gitlab", "--issuer", server.issuer, "--client-id", "account-cli"]
                try await logIn(account, as: "alice", service)
                let before = try await account.storedToken()
                try await logIn(account, as: "alice", service)
                #expect(try await !server.accepts(before))
                #expect(try await server.liveTokens(of: "alice").map(\.kind).sorted() == ["access", "refresh"])
                #expect(try await account("refresh").exitCode == 0)
            }
        }
    }

    @Test func `Where nobody knows that, the same user's sign-in before is left alone`() async throws {
        try await SignedInUser.run(serverOptions: ExampleServer.eachTokenByItself) { user in
            let before = try await user.account.storedToken()
            try await logIn(user.account, as: "alice")
            #expect(try await user.server.accepts(before))
            #expect(try await user.server.log()["/oauth/revoke"] == 0)
        }
    }

    @Test func `A sign-in at another service revokes the one before at its own`() async throws {
        try await SignedInUser.run(serverOptions: ExampleServer.eachTokenByItself) { user in
            try await ExampleServer.run { other in
                try await logIn(user.account, as: "alice", ["--issuer", other.issuer])
                #expect(try await user.server.liveTokens(of: "alice") == [])
                #expect(try await other.log()["/oauth/revoke"] == 0)
                #expect(try await user.account("whoami", "--verify").output == "alice\n")
            }
        }
    }

    @Test func `A service that cannot be told is told by a later command`() async throws {
        try await SignedInUser.run(serverOptions: ExampleServer.eachTokenByItself) { user in
            try await user.server.setFaults(Fault(path: "/oauth/revoke", status: 503))
            try await logIn(user.account, as: "bob")
            #expect(try await user.server.liveTokens(of: "alice").count == 2)
            try await user.server.clearFaults()
            let doctor = try await user.account("doctor", "--fix")
            #expect(doctor.exitCode == 0, "\(doctor)")
            #expect(try await user.server.liveTokens(of: "alice") == [])
            #expect(try await user.account("whoami", "--verify").output == "bob\n")
        }
    }

    @Test func `An import in place of a sign-in revokes it`() async throws {
        try await SignedInUser.run(serverOptions: ExampleServer.eachTokenByItself) { user in
            let file = user.container.path("old.plist")
            let made = try await Command(
                words: ["python3", "-B", BuiltProducts.fixture("legacy_archive.py"), "binary", "old-token", file]
            ).run()
            try #require(made.exitCode == 0, "\(made)")
            #expect(try await user.account("import", file, "--replace").exitCode == 0)
            #expect(try await user.server.liveTokens(of: "alice") == [])
            #expect(try await user.account("whoami", "--offline").output == "wang\n")
        }
    }

    @Test func `Where revoking one sign-in ends all of that user, the same user's is left alone, and another's is not`()
        async throws
    {
        try await Container.run { container in
            let options = ["--quirks", "google", "--device-interval", "1"]
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
                #expect(try await server.log()["/oauth/revoke"] == 0)
                try await logIn(as: "carol", "secret")
                #expect(try await server.log()["/oauth/revoke"] > 0)
                #expect(try await account("whoami", "--verify").output.hasPrefix("carol"))
            }
        }
    }
}
