@testable import EndToEndSupport
import Foundation
import NIOHTTP1
import Testing

/// Sessions whose tokens are bound to a key (RFC 9449).
@Suite(.queued)
struct BoundTokensTests {
    private struct Document: Decodable {
        let state: String
        let isBound: Bool?
    }

    private struct TokenDocument: Decodable {
        let token: String
        let tokenType: String
        let proof: String?
    }

    private static let refusal = "the tokens of this session are bound to a key"

    // MARK: The session

    @Test(arguments: ["on", "nonces"])
    func `Signs in, checks, refreshes and signs out with a key`(policy: String) async throws {
        try await BoundUser.run(policy) { user in
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
            for arguments in [["whoami", "--json"], ["status", "--json"]] {
                #expect(try await user.account.run(arguments).document(Document.self).isBound == true)
            }
            #expect(try await user.account("status").output.contains("bound to a key of this session (DPoP)"))
            for _ in 1...3 { #expect(try await user.account("refresh").exitCode == 0) }
            #expect(try await user.server.log()["rotations"] == 3)
            let logout = try await user.account("logout")
            #expect(logout.exitCode == 0, "\(logout)")
            #expect(try await user.server.liveTokens(of: "alice") == [])
            #expect(try await user.server.log()["reuseAlarms"] == 0)
        }
    }

    @Test func `Eight processes with an expired bound token refresh once`() async throws {
        try await BoundUser.run { user in
            try await user.server.expireTokens()
            try await user.account.expectName("alice", inProcesses: 8)
            let log = try await user.server.log()
            #expect(log["rotations"] == 1 && log["reuseAlarms"] == 0)
            // The first request has no nonce, and spends nothing.
            #expect(log["refreshes"] == 2)
        }
    }

    @Test func `Uses the newest nonce when the service replaces its nonces`() async throws {
        try await BoundUser.run { user in
            for _ in 1...3 {
                _ = try await user.server.control(.DELETE, "nonces")
                #expect(try await user.account("refresh").exitCode == 0)
            }
            #expect(try await user.account("whoami", "--verify").exitCode == 0)
        }
    }

    @Test func `Keeps the session if the service refuses each proof`() async throws {
        try await BoundUser.run("on") { user in
            try await user.server.expireTokens()
            for error in ["invalid_dpop_proof", "use_dpop_nonce"] {
                try await user.server.setFaults(
                    Fault(
                        path: "/oauth/token", status: 400, headers: ["Content-Type": "application/json"],
                        body: #"{"error":"\#(error)"}"#))
                let refresh = try await user.account("refresh")
                #expect(refresh.exitCode == 69 && refresh.errors.contains(error), "\(refresh)")
            }
            try await user.server.clearFaults()
            #expect(try await user.account("refresh").exitCode == 0)
        }
    }

    @Test func `Works although the clock of the machine is wrong`() async throws {
        try await BoundUser.run("on") { user in
            let account = try await WrongClock(in: user.container).tool(user.account, ahead: 86_400)
            let refresh = try await account("refresh")
            #expect(refresh.exitCode == 0, "\(refresh)")
        }
    }

    @Test func `Refuses and revokes tokens that the service does not bind`() async throws {
        try await Container.run { container in
            try await ExampleServer.run { server in
                let user = BoundUser(server: server, container: container, account: try .account(in: container))
                let login = try await user.signIn()
                #expect(login.exitCode == 78 && login.errors.contains("not bound to the key"), "\(login)")
                #expect(!container.exists(container.archive))
                #expect(try await server.liveTokens(of: "alice") == [])
            }
        }
    }

    @Test func `Remembers the binding for the next sign-in`() async throws {
        try await BoundUser.run { user in
            #expect(try await user.account("logout").exitCode == 0)
            for (options, isBound) in [([], true), (["--no-dpop"], nil), ([], nil)] as [([String], Bool?)] {
                let login = try await user.account.run(
                    ["login", "--username", "alice", "--password-stdin"] + options,
                    input: ExampleServer.alicePassword + "\n")
                #expect(login.exitCode == 0, "\(login)")
                #expect(try await user.account("status", "--json").document(Document.self).isBound == isBound)
            }
        }
    }

    @Test func `Keeps the key when the archive gets another key`() async throws {
        try await BoundUser.run { user in
            let rotation = try await user.account("key", "rotate")
            #expect(rotation.exitCode == 0, "\(rotation)")
            #expect(try await user.account("refresh").exitCode == 0)
            #expect(try await user.account("whoami", "--verify").exitCode == 0)
        }
    }

    @Test func `Works with a sign-in on another device`() async throws {
        try await Container.run { container in
            try await ExampleServer.run(["--dpop", "nonces", "--device-interval", "1"]) { server in
                let account = try Tool.account(in: container)
                let login = try await account.logInOnDevice(at: server, ["--issuer", server.issuer, "--dpop"])
                #expect(login.exitCode == 0, "\(login)")
                #expect(try await account("refresh").exitCode == 0)
            }
        }
    }

    // MARK: Requests of other programs

    @Test func `token prints a token and a proof for one request`() async throws {
        try await BoundUser.run("on") { user in
            let fields = try await user.fields("GET", user.userInfo + "?x=1")
            #expect(fields.keys.sorted() == ["Authorization", "DPoP"])
            #expect(try await HTTP.send(.GET, user.userInfo, fields: fields).status == 200)
            // A copy of the token and of the proof is useless: for the same request, for another one, or without proof.
            #expect(try await HTTP.send(.GET, user.userInfo, fields: fields).status == 401)
            let post = try await user.fields("POST", user.userInfo)
            #expect(try await HTTP.send(.GET, user.userInfo, fields: post).status == 401)
            let token = try #require(fields["Authorization"]?.dropFirst(5))
            #expect(try await HTTP.get(user.userInfo, bearer: String(token)).status == 401)
            #expect(try await HTTP.send(.GET, user.userInfo, fields: ["Authorization": "DPoP \(token)"]).status == 401)
        }
    }

    @Test func `token adds the nonce that an API requires`() async throws {
        try await BoundUser.run { user in
            let refused = try await HTTP.send(
                .GET, user.userInfo, fields: try await user.fields("GET", user.userInfo))
            #expect(refused.status == 401)
            let nonce = try #require(refused.nonce)
            let fields = try await user.fields("GET", user.userInfo, ["--dpop-nonce", nonce])
            #expect(try await HTTP.send(.GET, user.userInfo, fields: fields).status == 200)
        }
    }

    @Test func `token prints the proof as JSON`() async throws {
        try await BoundUser.run("on") { user in
            let outcome = try await user.account("token", "--json", "--dpop-proof", "GET", user.userInfo)
            let document = try outcome.document(TokenDocument.self)
            #expect(document.tokenType == "DPoP")
            let fields = ["Authorization": "DPoP \(document.token)", "DPoP": try #require(document.proof)]
            #expect(try await HTTP.send(.GET, user.userInfo, fields: fields).status == 200)
        }
    }

    @Test func `token prints no bound token without a proof`() async throws {
        try await BoundUser.run("on") { user in
            for options in [[], ["--json"], ["--min-validity", "0"]] {
                let outcome = try await user.account.run(["token"] + options)
                #expect(outcome.exitCode == 78, "\(outcome)")
                let text = outcome.output + outcome.errors
                #expect(
                    text.contains(Self.refusal) && text.contains("--dpop-proof") && !text.contains("at_"), "\(text)")
            }
            for options in [
                ["GET"], ["GET", "api.example.com"], ["GET", "http://api.example.com"], ["G T", user.userInfo],
            ] {
                let outcome = try await user.account.run(["token", "--dpop-proof"] + options)
                #expect(outcome.exitCode == 64 && outcome.output == "", "\(outcome)")
            }
        }
    }

    @Test func `token refuses a proof for a token that needs none`() async throws {
        try await SignedInUser.run { user in
            let outcome = try await user.account("token", "--dpop-proof", "GET", user.server.issuer)
            #expect(outcome.exitCode == 78 && outcome.errors.contains("need no proof"), "\(outcome)")
        }
    }

    @Test func `The helpers refuse a bound token and name the command that works`() async throws {
        try await BoundUser.run("on", ["--api"]) { user in
            let api = user.server.issuer + "/mcp"
            #expect(try await user.account("rule", "add", user.server.issuer, "--session", "default").exitCode == 0)
            let host = user.server.issuer.dropFirst("http://".count)
            for (arguments, input) in [
                (["exec", "--", "true"], ""), (["keep", "--once", "--file", user.container.path("token")], ""),
                (["git-credential", "get"], "protocol=http\nhost=\(host)\n\n"), (["headers", api], ""),
                (["kube-credential", "--any-cluster"], ""),
                (["docker-credential", "get"], user.server.issuer),
            ] as [([String], String)] {
                let outcome = try await user.account.run(arguments, input: input)
                let text = outcome.output + outcome.errors
                #expect(outcome.exitCode != 0, "\(outcome)")
                #expect(text.contains(Self.refusal) && text.contains("--dpop-proof"), "\(outcome)")
                #expect(!text.contains("at_"), "\(outcome)")
            }
            #expect(!user.container.exists(user.container.path("token")))
        }
    }

    @Test func `mcp answers a request with the reason, and sends no bound token`() async throws {
        try await BoundUser.run("on", ["--api"]) { user in
            let api = user.server.issuer + "/mcp"
            #expect(try await user.account("rule", "add", user.server.issuer, "--session", "default").exitCode == 0)
            let bridge = try await user.account.run(["mcp", api], input: MCPMessage.initialize + "\n")
            #expect(bridge.exitCode == 0, "\(bridge)")
            #expect(bridge.output.contains(#""error""#) && bridge.output.contains(Self.refusal), "\(bridge)")
            #expect(!"\(bridge)".contains("at_"), "\(bridge)")
            #expect(try await user.server.log()["/mcp"] == 0)
        }
    }

    // MARK: Copies

    @Test func `A copy of the tokens without the key is useless at the service`() async throws {
        try await BoundUser.run { user in
            try await BoundUser.run { thief in
                // The thief has another key, and proves it for the stolen access token.
                let stolen = try await user.fields("GET", user.userInfo)["Authorization"] ?? ""
                let own = try await thief.fields("GET", user.userInfo)["DPoP"] ?? ""
                let status = try await HTTP.send(
                    .GET, user.userInfo, fields: ["Authorization": stolen, "DPoP": own]
                ).status
                #expect(status == 401)
            }
            #expect(try await user.account("whoami", "--verify").exitCode == 0)
        }
    }
}
