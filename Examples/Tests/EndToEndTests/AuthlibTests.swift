import Testing

/// Signing in, refreshing and signing out at Authlib, whose refresh tokens are good for one time.
@Suite(.queued(minutes: 15), .server("authlib", importing: "authlib"))
struct AuthlibTests {
    private func run(_ test: (PythonServerUser) async throws -> Void) async throws {
        try await PythonServerUser.run(userInfo: "/userinfo", test)
    }

    private func runSignedIn(_ test: (PythonServerUser) async throws -> Void) async throws {
        try await run { alice in
            try await alice.signInWithPassword()
            try await test(alice)
        }
    }

    private static let credentials: [Browser.Step] = [
        .type("alice", into: "[name=username]"), .type(PythonServer.password, into: "[name=password]"),
    ]

    @Test func `Signs in with the browser`() async throws {
        try await run { alice in
            let login = try await alice.signIn(following: Self.credentials + [.press("button[value=accept]")])
            #expect(login.outcome.exitCode == 0, "\(login.outcome)")
            #expect(login.page.heading == "You are signed in")
            try await alice.expectVerified()
        }
    }

    @Test func `Ends the attempt when the user denies it in the browser`() async throws {
        try await run { alice in
            let login = try await alice.signIn(following: Self.credentials + [.press("button[value=deny]")])
            #expect(login.outcome.exitCode == 77, "\(login.outcome)")
            #expect(login.outcome.errors.contains("access_denied"), "\(login.outcome)")
            #expect(!alice.container.exists(alice.container.archive))
        }
    }

    @Test(arguments: ["accept": 0 as Int32, "deny": 77])
    func `Signs in with a code on another device, unless it is denied`(
        answer: String, exitCode: Int32
    ) async throws {
        try await run { alice in
            let words = ["login", "--device", "--issuer", alice.issuer, "--client-id", alice.client]
            let outcome = try await alice.account.command(words).whileRunning { login in
                let code = try await login.errors.match {
                    $0.firstMatch(of: /\n +([A-Z]{4}-[A-Z]{4})\n/).map { String($0.1) }
                }
                let password = PythonServer.password.replacing(" ", with: "+")
                let form = "user_code=\(code)&username=alice&password=\(password)&answer=\(answer)"
                let response = try await HTTP.postForm(alice.issuer + "/device", form)
                #expect(response.text.contains("<h1>Done</h1>"))
            }
            #expect(outcome.exitCode == exitCode, "\(outcome)")
            if exitCode == 0 { try await alice.expectVerified() }
        }
    }

    @Test func `Signs in with a password`() async throws {
        try await runSignedIn { try await $0.expectVerified() }
    }

    @Test func `Sends each refresh token once`() async throws {
        try await runSignedIn { try await $0.expectRotation() }
    }

    @Test func `Refreshes once for eight processes`() async throws {
        try await runSignedIn { try await $0.expectOneRefreshForEightProcesses() }
    }

    @Test func `Refreshes in silence when the access token expired early`() async throws {
        try await runSignedIn { alice in
            try await alice.server.expireTokens(of: alice.client)
            let outcome = try await alice.account("whoami", "--max-age", "0")
            #expect(outcome.output == "alice\n" && outcome.errors == "", "\(outcome)")
            #expect(try await alice.refreshes().map(\.status) == [200])
        }
    }

    @Test func `Revokes the tokens on logout`() async throws {
        try await runSignedIn { try await $0.expectRevokedByLogout() }
    }

    @Test func `Signs out when the service rejects the refresh token`() async throws {
        try await runSignedIn { try await $0.expectSignedOutByRejection() }
    }

    @Test func `Keeps the session when the service is unreachable`() async throws {
        try await runSignedIn { try await $0.expectKeptOffline() }
    }
}
