@testable import EndToEndSupport
import Foundation
import NIOHTTP1
import Testing

/// Sessions whose tokens are bound to a key (RFC 9449). The unit tests in `BoundTokensTests`, `ProofNoncesTests` and
/// `BoundSessionTests` test each request, each nonce and each change of the session.
@Suite(.queued)
struct BoundTokensTests {
    private struct Document: Decodable {
        let state: String
        let isBound: Bool?
        var isWithheld: Bool?
        var reason: String?
    }

    private struct TokenDocument: Decodable {
        let token: String
        let tokenType: String
        let proof: String?
    }

    private static let refusal = "the tokens of this session are bound to a key"

    // MARK: The session

    @Test func `Signs in, checks, refreshes and signs out with a key`() async throws {
        try await BoundUser.run { user in
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
            for arguments in [["whoami", "--json"], ["status", "--json"]] {
                #expect(try await user.account.run(arguments).document(Document.self).isBound == true)
            }
            #expect(try await user.account("status").output.contains("bound to a key of this session (DPoP)"))
            #expect(try await user.account("refresh").exitCode == 0)
            // The service requires another nonce, and the archive gets another key.
            _ = try await user.server.control(.DELETE, "nonces")
            #expect(try await user.account("key", "rotate").exitCode == 0)
            #expect(try await user.account("refresh").exitCode == 0)
            #expect(try await user.account("whoami", "--verify").exitCode == 0)
            #expect(try await user.server.log()["rotations"] == 2)
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
            // The nonce of the sign-in is stored with the key.
            #expect(log["refreshes"] == 1)
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

    @Test func `Withholds an unbound token of a refresh, and asks again with a proof`() async throws {
        try await BoundUser.run("on") { user in
            try await user.server.alter(.token, setting: ["token_type": .text("Bearer")])
            let refused = try await user.account("refresh")
            #expect(refused.exitCode == 69, "\(refused)")
            #expect(refused.errors.contains("not bound to the key of this session"), "\(refused)")
            #expect(refused.errors.contains("still signed in"), "\(refused)")
            #expect(try await user.account("rule", "add", "https://git.example.com").exitCode == 0)
            for (words, input) in [
                (["token"], ""), (["token", "--json"], ""), (["token", "--dpop-proof", "GET", user.userInfo], ""),
                (["token", "--id-token"], ""), (["token", "--scope", "openid"], ""),
                (["exec", "--", "printenv", "ACCOUNT_TOKEN"], ""),
                (["keep", "--once", "--file", user.container.path("kept")], ""),
                (["git-credential", "get"], "protocol=https\nhost=git.example.com\n\n"),
                (["kube-credential", "--any-cluster"], ""),
            ] as [([String], String)] {
                let outcome = try await user.account.run(words, input: input)
                #expect(outcome.exitCode != 0 || words[0] == "git-credential", "\(outcome)")
                #expect(!outcome.output.contains("at_") && !outcome.output.contains("password"), "\(outcome)")
            }
            #expect(!user.container.exists(user.container.path("kept")))
            let status = try await user.account("status")
            #expect(status.exitCode == 0, "\(status)")
            let words = status.output.split { $0.isWhitespace }.joined(separator: " ")
            #expect(words.contains("Tokens withheld: the service issued a token of the type Bearer"), "\(status)")
            let document = try await user.account("status", "--json").document(Document.self)
            #expect(document.reason == "unclearReply" && document.isWithheld == true && document.isBound == nil)

            try await user.server.alter(.token)
            try await user.server.clearLog()
            // Each refresh uses the refresh token of the response before.
            let refresh = try await user.account("refresh")
            #expect(refresh.exitCode == 0, "\(refresh)")
            let fields = try await user.fields("GET", user.userInfo)
            #expect(try await HTTP.send(.GET, user.userInfo, fields: fields).status == 200)
            let log = try await user.server.log()
            #expect(log["rotations"] == 1 && log["reuseAlarms"] == 0)
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
            let proof = try await user.account("token", "--dpop-proof", "GET", user.server.issuer)
            #expect(proof.exitCode == 78 && proof.errors.contains("need no proof"), "\(proof)")
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

            let json = try await user.account("token", "--json", "--dpop-proof", "GET", user.userInfo)
            let document = try json.document(TokenDocument.self)
            #expect(document.tokenType == "DPoP")
            let both = ["Authorization": "DPoP \(document.token)", "DPoP": try #require(document.proof)]
            #expect(try await HTTP.send(.GET, user.userInfo, fields: both).status == 200)

            for options in [["GET"], ["GET", "http://api.example.com"], ["G T", user.userInfo]] {
                let outcome = try await user.account.run(["token", "--dpop-proof"] + options)
                #expect(outcome.exitCode == 64 && outcome.output == "", "\(outcome)")
            }
        }
    }

    @Test func `Other commands refuse a bound token and name the command that works`() async throws {
        try await BoundUser.run("on", ["--api"]) { user in
            let api = user.server.issuer + "/mcp"
            #expect(try await user.account("rule", "add", user.server.issuer, "--session", "default").exitCode == 0)
            let host = user.server.issuer.dropFirst("http://".count)
            for (arguments, input) in [
                (["token"], ""), (["token", "--json"], ""), (["exec", "--", "true"], ""),
                (["keep", "--once", "--file", user.container.path("token")], ""),
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

            // `mcp` responds with the reason to each request.
            let bridge = try await user.account.run(["mcp", api], input: MCPMessage.initialize + "\n")
            #expect(bridge.exitCode == 0, "\(bridge)")
            #expect(bridge.output.contains(#""error""#) && bridge.output.contains(Self.refusal), "\(bridge)")
            #expect(!"\(bridge)".contains("at_"), "\(bridge)")
            #expect(try await user.server.log()["/mcp"] == 0)
        }
    }

    // MARK: Copies

    @Test func `A copy of the tokens without the key is useless at the service`() async throws {
        try await Container.run { outside in
            let stateFile = outside.path("state.json")
            try await BoundUser.run("on", ["--state", stateFile]) { user in
                let state = try String(contentsOfFile: stateFile, encoding: .utf8)
                func issued(_ prefix: String) throws -> String {
                    let tokens = state.matches(of: /"([ar]t_[A-Za-z0-9_-]{43})"/).map { String($0.output.1) }
                    return try #require(tokens.first { $0.hasPrefix(prefix) })
                }
                let (access, refresh) = (try issued("at_"), try issued("rt_"))
                let thief = ForeignKey()
                let tokenEndpoint = user.server.issuer + "/oauth/token"

                func call(_ scheme: String, _ token: String, _ proof: String?) async throws -> Int {
                    var fields = ["Authorization": "\(scheme) \(token)"]
                    fields["DPoP"] = proof
                    return try await HTTP.send(.GET, user.userInfo, fields: fields).status
                }
                func request(_ form: String, _ proof: String?) async throws -> (status: Int, text: String) {
                    let response = try await HTTP.send(
                        .POST, tokenEndpoint, fields: proof.map { ["DPoP": $0] } ?? [:],
                        form: "client_id=account-cli&" + form)
                    return (response.status, response.text)
                }

                #expect(try await call("Bearer", access, nil) == 401)
                #expect(try await call("DPoP", access, nil) == 401)
                #expect(try await call("DPoP", access, try thief.proof("GET", user.userInfo, for: access)) == 401)
                for proof in [nil, try thief.proof("POST", tokenEndpoint)] {
                    let answer = try await request("grant_type=refresh_token&refresh_token=\(refresh)", proof)
                    #expect(answer.status == 400 && answer.text.contains("bound to another key"), "\(answer)")
                }

                // The service accepts the proofs of the other key for tokens that are bound to it.
                let password = ExampleServer.alicePassword.replacing(" ", with: "+")
                let own = try await request(
                    "grant_type=password&username=alice&password=\(password)", thief.proof("POST", tokenEndpoint))
                #expect(own.status == 200, "\(own)")
                let token = String(try #require(own.text.firstMatch(of: /"(at_[A-Za-z0-9_-]{43})"/)).output.1)
                #expect(try await call("DPoP", token, try thief.proof("GET", user.userInfo, for: token)) == 200)

                // The session of the user goes on.
                #expect(try await user.account("whoami", "--verify").exitCode == 0)
                #expect(try await user.account("refresh").exitCode == 0)
                let log = try await user.server.log()
                #expect(log["rotations"] == 1 && log["reuseAlarms"] == 0)
            }
        }
    }
}
