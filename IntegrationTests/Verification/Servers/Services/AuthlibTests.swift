@testable import EndToEndSupport
import Foundation
import Subprocess
import Testing

/// Signing in, refreshing and signing out at Authlib, whose refresh tokens are single-use.
@Suite(.queued(minutes: 15), .server("authlib", importing: "authlib"))
struct AuthlibTests {
    private func run(
        secretMethod: String? = nil, fields: [String: String] = [:], _ test: (PythonServerUser) async throws -> Void
    ) async throws {
        try await PythonServerUser.run(userInfo: "/userinfo", secretMethod: secretMethod, fields: fields, test)
    }

    @Test func `Signs in with the browser`() async throws {
        try await run { alice in
            let login = try await alice.signIn(following: [
                .type("alice", into: "[name=username]"), .type(PythonServer.password, into: "[name=password]"),
                .press("button[value=accept]"),
            ])
            #expect(login.outcome.exitCode == 0, "\(login.outcome)")
            #expect(login.page.heading == "You are signed in")
            try await alice.expectVerified()
        }
    }

    /// The service announces an `iss` parameter in each response, but omits the parameter from error responses.
    @Test func `Reports the error of a response that omits the promised issuer`() async throws {
        try await run { alice in
            let options = alice.options + ["--parameter", "prompt=none"]
            let login = try await alice.account.logIn(options) { _ = try await HTTP.get($0) }
            #expect(login.exitCode == 69, "\(login)")
            #expect(login.errors.contains("unverified error: login_required"), "\(login)")
        }
    }

    @Test func `Names the secret or the scope that the service requires`() async throws {
        let rows: [(method: String?, options: [String], advice: String)] = [
            ("basic", [], "set ACCOUNT_CLIENT_SECRET"),
            (nil, ["--no-default-scopes", "--scope", "profile"], "--scope openid"),
        ]
        for (method, options, advice) in rows {
            try await run(secretMethod: method) { alice in
                let words = ["login", "--issuer", alice.issuer, "--client-id", alice.client, "--username", "alice"]
                let account = alice.account.with("ACCOUNT_CLIENT_SECRET", nil)
                let login = try await account.run(
                    words + ["--password-stdin"] + options, input: PythonServer.password + "\n")
                #expect(login.exitCode == (method == nil ? 69 : 78), "\(login)")
                #expect(login.errors.contains(advice), "\(login)")
            }
        }
    }

    @Test(arguments: ["basic", "post"])
    func `Signs in as a client without a user`(method: String) async throws {
        try await run(secretMethod: method) { user in
            try await user.expectMachineSession(["--client-credentials", "--scope", "profile"])
            let token = try await user.account.storedToken()
            let logout = try await user.account("logout", "--json")
            #expect(logout.output.contains(#""revocation":"done""#), "\(logout)")
            #expect(try await !user.accepts(token))
        }
    }

    /// The service does not accept the algorithm EdDSA, which RFC 9864 deprecates.
    @Test(arguments: ["ES256", "RS256"])
    func `Signs in as a client with a key`(algorithm: String) async throws {
        try await Container.run { container in
            let keys = try await ClientKeyPair(algorithm, in: container)
            let publicKey = try String(contentsOfFile: keys.publicKey, encoding: .utf8)
            try await run(fields: ["public_key": publicKey]) { user in
                let options = ["--client-credentials", "--client-key", keys.privateKey, "--scope", "profile"]
                try await user.expectMachineSession(options)
                try await keys.rotate()
                let refresh = try await user.account("refresh")
                #expect(refresh.exitCode == 78 && refresh.errors.contains(keys.privateKey), "\(refresh)")
                #expect(try await user.account("token").exitCode == 0)
            }
        }
    }

    // MARK: Workload identity

    @Test func `Signs in with an assertion that authenticates the client`() async throws {
        try await run(fields: ["method": "workload"]) { user in
            let platform = WorkloadPlatform(audience: user.issuer)
            try await user.expectMachineSession([
                "--workload", platform.command(subject: user.client), "--workload-grant", "client-assertion", "--scope",
                "profile",
            ])
            let logout = try await user.account("logout", "--json")
            #expect(logout.output.contains(#""revocation":"done""#), "\(logout)")
        }
    }

    @Test(arguments: ["jwt-bearer", "token-exchange"])
    func `Signs in with an assertion as the grant`(grant: String) async throws {
        try await run { user in
            let platform = WorkloadPlatform(audience: user.issuer)
            try await user.expectMachineSession(
                ["--workload", platform.command, "--workload-grant", grant, "--scope", "profile"],
                grant: "urn:ietf:params:oauth:grant-type:" + grant)
        }
    }

    @Test func `Reminds a waiting user to check --client-id and --redirect-uri`() async throws {
        try await run { alice in
            let words = ["login", "--web", "--issuer", alice.issuer, "--client-id", "nosuch"]
            let outcome = try await alice.account.with("BROWSER", "true").command(words).whileRunning { login in
                _ = try await login.errors.match { $0.contains("check --client-id and --redirect-uri") ? true : nil }
                try await login.send(.interrupt)
            }
            #expect(outcome.exitCode == 130, "\(outcome)")
        }
    }

    @Test(arguments: ["accept": 0 as Int32, "deny": 77])
    func `Signs in with a code on another device unless the user denies it`(
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

    @Test func `Signs in with a password, refreshes, and revokes`() async throws {
        try await run { alice in
            try await alice.signInWithPassword()
            try await alice.expectVerified()
            try await alice.expectSingleUseTokens()
            try await alice.expectRevokedByLogout()

            try await alice.signInWithPassword()
            try await alice.expectSignedOutByRejection()

            try await alice.signInWithPassword()
            try await alice.expectWarningAfterNarrowing()
        }
    }

    /// The service lists both methods, but accepts only the method of the client's registration.
    @Test func `Tries the other client secret method once`() async throws {
        try await run(secretMethod: "post") { alice in
            try await alice.signInWithPassword()
            #expect(try await alice.account("refresh").exitCode == 0)
            let log = try await alice.server.log(of: alice.client)
            #expect(log.map { "\($0.authentication) \($0.status)" } == ["basic 401", "post 200", "post 200"])
            #expect(try await alice.account("logout", "--json").output.contains(#""revocation":"done""#))
        }
    }
}
