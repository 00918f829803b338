import Foundation
import Subprocess
import Testing

/// `account mcp`: the official MCP client for Python over stdio, and the official server, which requires tokens.
/// `MCPBridgeTests`, `MCPMessageTests` and `EventStreamParserTests` have the messages and the failures of a server.
@Suite(.queued(minutes: 15))
struct MCPTests {
    @Test(arguments: [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
    func `Calls tools with the token of the session`(mode: String, version: String) async throws {
        try await MCPUser.run { alice in
            let seen = try await alice.client("conversation", mode: mode)
            #expect(seen["version"] == .text(version))
            #expect(seen["tools"] == .list(["echo", "region", "blob", "steps", "flood", "hang"]))
            #expect(seen["echo"] == .text("grüße\n\u{2028}"))
            #expect(seen["region"] == .text("südost"))
            #expect(seen["steps"] == .integer(100))
            #expect(seen["lengths"] == .array([.integer(16 << 20), .integer(16 << 20)]))
            // The bridge refreshes a rejected token once, without an error for the client.
            #expect(seen["after"] == .text("after"))
            #expect(try await alice.user.server.log()["refreshes"] == 1)

            let requests = try await alice.log().requests
            #expect(requests.allSatisfy { $0.hasToken }, "\(requests)")
            if mode == "legacy" {
                #expect(requests.filter { $0.session == nil }.count == 1, "\(requests)")
                #expect(requests.contains { $0.method == "GET" && $0.status == 200 }, "\(requests)")
                try await waitUntil("the server ended the session") {
                    let last = try await alice.log().requests.last
                    return last?.method == "DELETE" && last?.status == 200
                }
            } else {
                #expect(requests.allSatisfy { $0.method == "POST" && $0.version == version }, "\(requests)")
                let call = try #require(requests.last { $0.name == "region" })
                #expect(call.call == "tools/call" && call.region == "=?base64?c8O8ZG9zdA==?=", "\(call)")
            }
        }
    }

    @Test func `Without a token, sends nothing, names the command, and works after it`() async throws {
        try await MCPUser.run(hasRule: false) { alice in
            func expectRefusal(_ code: Int, _ command: String) async throws {
                let error = try await alice.client("refusal")
                #expect(error["code"] == .integer(code))
                guard case .text(let message)? = error["message"] else { throw Unexpected("\(error)") }
                #expect(message.contains(command), "\(message)")
                #expect(try await alice.log().requests.isEmpty)
            }
            try await expectRefusal(78, "`account rule add \(alice.url) --session NAME`")
            let account = alice.user.account
            #expect(try await account("rule", "add", alice.url, "--session", "default").exitCode == 0)
            #expect(try await account("logout").exitCode == 0)
            try await expectRefusal(77, "`account login`")
            let outcome = try await account.command(["mcp", alice.url]).withInput { bridge in
                try await bridge.write(MCPUser.initialize + "\n")
                try await bridge.errors.wait(for: "account login")
                try await alice.user.signIn()
                try await bridge.write(MCPUser.initialize + "\n")
                try await bridge.output.wait(for: "serverInfo")
            }
            #expect(outcome.exitCode == 0, "\(outcome)")

            // The bridge never writes a token, even after a rejection.
            let token = try await account.storedToken()
            try await alice.user.server.endSessions()
            let rejected = try await alice.bridge(MCPUser.initialize)
            #expect(rejected.exitCode == 0, "\(rejected)")
            #expect(!"\(rejected)".contains(token))
        }
    }

    // MARK: The end

    @Test func `Ends the session at the server on SIGTERM`() async throws {
        try await MCPUser.run { alice in
            let outcome = try await alice.user.account.command(["mcp", alice.url]).withInput { bridge in
                try await bridge.write(MCPUser.initialize + "\n")
                try await bridge.output.wait(for: "serverInfo")
                try await bridge.write(#"{"jsonrpc":"2.0","method":"notifications/initialized"}"# + "\n")
                let call = #"{"name":"hang","arguments":{},"_meta":{"progressToken":1}}"#
                try await bridge.write(#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":\#(call)}"# + "\n")
                try await bridge.output.wait(for: "notifications/progress")
                try await bridge.send(.terminate)
            }
            #expect(outcome.wasEnded(by: .terminate), "\(outcome)")
            // The bridge waits for the response for 1.5 s at most.
            try await waitUntil("the server received the request") {
                try await alice.log().requests.last?.method == "DELETE"
            }
        }
    }

    // MARK: A client that reads nothing

    @Test func `Holds the server back while the client reads nothing`() async throws {
        try await MCPUser.run { alice in
            let seen = try await alice.client("slow_reader")
            #expect(seen["held"] == .boolean(true) && seen["notes"] == .integer(4096), "\(seen)")
            #expect(seen["rest"] == .text("") && seen["status"] == .integer(0), "\(seen)")
            guard case .integer(let memory)? = seen["memory"], case .integer(let threads)? = seen["threads"] else {
                throw Unexpected("\(seen)")
            }
            // The server sends 256 MiB.
            #expect(memory < 128 << 10, "\(seen)")
            #expect(threads < 24, "\(seen)")
        }
    }

    @Test func `Ends on SIGTERM while its output is blocked`() async throws {
        try await MCPUser.run { alice in
            let seen = try await alice.client("blocked_output")
            #expect(seen == ["held": .boolean(true), "status": .integer(-15)])
            #expect(try await alice.log().requests.last?.method == "DELETE")
        }
    }
}
