import Testing

/// Signing in with a browser on another machine.
@Suite(.queued)
struct PasteTests {
    @Test func `Someone who pastes the address that the browser ended on is signed in, and no browser is opened`()
        async throws
    {
        try await SignedInUser.run { user in
            let opened = user.container.path("opened")
            let account = user.account.with("BROWSER", "touch \(opened)")
            let login = try await account.logIn([]) { address in
                try await user.server.signInElsewhere(address, username: "bob", password: ExampleServer.bobPassword)
            }
            #expect(login.exitCode == 0, "\(login)")
            #expect(login.output == "")
            #expect(login.errors.hasSuffix("Signed in as bob at \(user.server.issuer).\n"))
            #expect(!user.container.exists(opened))
            #expect(try await user.account("whoami", "--verify").output == "bob\n")
            #expect(try await user.account("refresh").exitCode == 0)
        }
    }

    @Test(arguments: ["http://127.0.0.1:1/callback?code=x&state=y", "nonsense", ""])
    func `An address that is not of this sign-in keeps who is signed in`(line: String) async throws {
        try await SignedInUser.run { user in
            let login = try await user.account.logIn([]) { _ in line }
            #expect(login.exitCode == 64, "\(login)")
            #expect(try await user.server.log()["/oauth/token"] == 0)
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
        }
    }

    @Test func `The address of another sign-in is not taken for this one's`() async throws {
        try await SignedInUser.run { user in
            let login = try await user.account.logIn([]) { address in
                let end = try await user.server.signInElsewhere(address)
                return end.replacing(/state=[^&]+/, with: "state=another")
            }
            #expect(login.exitCode == 64, "\(login)")
            #expect(login.errors.contains("another sign-in"))
            #expect(try await user.server.log()["/oauth/token"] == 0)
        }
    }

    @Test func `Nothing pasted is exit code 64`() async throws {
        try await SignedInUser.run { user in
            let outcome = try await user.account("login", "--paste")
            #expect(outcome.exitCode == 64, "\(outcome)")
            #expect(outcome.errors.contains("no address was entered"))
        }
    }
}
