@testable import EndToEndSupport
import Foundation
import Subprocess
import Testing

/// `account mcp`: the official MCP client for Python over stdio, and the official server, which requires tokens.
@Suite(.queued(minutes: 15))
struct MCPTests {
    @Test(arguments: [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
    func `Calls tools with the token of the session`(mode: String, version: String) async throws {
        try await MCPUser.run { alice in
            let seen = try await alice.client("tools", mode: mode)
            #expect(seen["version"] == .text(version))
            #expect(seen["tools"] == .list(["echo", "region", "blob", "steps", "flood", "hang"]))
            #expect(seen["echo"] == .text("grüße\n\u{2028}"))
            #expect(seen["region"] == .text("südost"))
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

    @Test func `Calls tools of a server that sends JSON documents`() async throws {
        try await MCPUser.run(["--json"]) { alice in
            let seen = try await alice.client("tools", mode: "legacy")
            #expect(seen["echo"] == .text("grüße\n\u{2028}"))
        }
    }

    @Test func `Reads the tools itself if the client has not listed them`() async throws {
        try await MCPUser.run { alice in
            let seen = try await alice.client("unlisted")
            #expect(seen == ["region": .text("eu")])
            #expect(try await alice.log().requests.filter { $0.status == 400 }.count == 1)
        }
    }

    @Test func `Removes a tool with an invalid header field from the list`() async throws {
        try await MCPUser.run(["--invalid"]) { alice in
            let outcome = try await alice.bridge(MCPUser.request("tools/list"))
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(outcome.output.contains(#""name":"region""#), "\(outcome)")
            #expect(!outcome.output.contains(#""name":"invalid""#), "\(outcome)")
            #expect(
                outcome.errors.contains(
                    "the tool invalid of \(alice.url) is left out: a parameter with x-mcp-header is not a string, "
                        + "an integer or a boolean"), "\(outcome)")
        }
    }

    @Test(arguments: ["legacy", "auto"])
    func `Refreshes a rejected token once, without an error for the client`(mode: String) async throws {
        try await MCPUser.run { alice in
            let seen = try await alice.client("expiry", mode: mode)
            #expect(seen == ["before": .text("before"), "after": .text("after")])
            #expect(try await alice.user.server.log()["refreshes"] == 1)
        }
    }

    @Test(arguments: ["legacy", "auto"])
    func `Continues after a restart of the server`(mode: String) async throws {
        try await MCPUser.run(nil) { alice in
            let seen = try await alice.client("restart", mode: mode, server: alice.serverWords)
            #expect(seen["before"] == .text("before") && seen["after"] == .text("after"), "\(seen)")
            guard case .text(let meanwhile)? = seen["meanwhile"] else { throw Unexpected("\(seen)") }
            #expect(meanwhile.contains("did not respond"), "\(meanwhile)")
        }
    }

    @Test(arguments: ["legacy", "auto"])
    func `Forwards the messages of a stream`(mode: String) async throws {
        try await MCPUser.run { alice in
            let seen = try await alice.client("progress", mode: mode)
            #expect(seen == ["steps": .integer(100), "result": .text("done")])
        }
    }

    @Test func `Resumes a stream after the last event`() async throws {
        try await MCPUser.run(["--resumable"]) { alice in
            let seen = try await alice.client("drops", mode: "legacy")
            #expect(seen == ["ended": .text("[1.0, 2.0, 3.0] call 1"), "broken": .text("[1.0, 2.0, 3.0] call 2")])
            let requests = try await alice.log().requests
            #expect(requests.filter { $0.lastEvent != nil }.map(\.method) == ["GET", "GET"], "\(requests)")
        }
    }

    @Test(arguments: ["legacy", "auto"])
    func `Cancels a call at the server`(mode: String) async throws {
        try await MCPUser.run { alice in
            let seen = try await alice.client("cancellation", mode: mode)
            #expect(seen == ["after": .text("after")])
        }
    }

    @Test(arguments: ["legacy", "auto"])
    func `Forwards messages of 14 MiB`(mode: String) async throws {
        try await MCPUser.run { alice in
            let length = JSON.integer(7 << 20)
            let seen = try await alice.client("large", mode: mode)
            #expect(seen == ["blob": length, "echo": length, "first": .text("ü")])
        }
    }

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

    // MARK: Without a token

    @Test func `Sends nothing to a URL without a rule, and names the command`() async throws {
        try await MCPUser.run(hasRule: false) { alice in
            let error = try await alice.client("refusal")
            #expect(error["code"] == .integer(78))
            guard case .text(let message)? = error["message"] else { throw Unexpected("\(error)") }
            #expect(message.contains("`account rule add \(alice.url) --session NAME`"), "\(message)")
            #expect(try await alice.log().requests.isEmpty)
        }
    }

    @Test func `Names the command that signs in, and works after it`() async throws {
        try await MCPUser.run { alice in
            #expect(try await alice.user.account("logout").exitCode == 0)
            let error = try await alice.client("refusal")
            #expect(error["code"] == .integer(77))
            guard case .text(let message)? = error["message"] else { throw Unexpected("\(error)") }
            #expect(message.contains("`account login`"), "\(message)")
            #expect(try await alice.log().requests.isEmpty)

            let account = alice.user.account
            let outcome = try await account.command(["mcp", alice.url]).withInput { bridge in
                try await bridge.write(MCPMessage.initialize + "\n")
                try await bridge.errors.wait(for: "account login")
                try await alice.user.signIn()
                try await bridge.write(MCPMessage.initialize + "\n")
                try await bridge.output.wait(for: "serverInfo")
            }
            #expect(outcome.exitCode == 0, "\(outcome)")
        }
    }

    @Test func `Never writes a token, even after a rejection`() async throws {
        try await MCPUser.run { alice in
            let token = try await alice.user.account.storedToken()
            try await alice.user.server.endSessions()
            let outcome = try await alice.bridge(MCPMessage.initialize)
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(outcome.output.contains("`account login`"), "\(outcome)")
            #expect(!"\(outcome)".contains(token))
        }
    }

    // MARK: The end

    @Test func `Ends the session at the server after the input and the responses`() async throws {
        try await MCPUser.run { alice in
            let outcome = try await alice.bridge(MCPMessage.initialize, "nonsense")
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(outcome.output.split(separator: "\n").count == 2, "\(outcome)")
            #expect(outcome.output.contains("serverInfo") && outcome.output.contains("-32700"), "\(outcome)")
            // The bridge waits for the response for 1.5 s at most.
            try await waitUntil("the server received the request") { try await alice.log().requests.count > 1 }
            #expect(try await alice.log().requests.map(\.method) == ["POST", "DELETE"])
        }
    }

    @Test func `Ends the session at the server on SIGTERM`() async throws {
        try await MCPUser.run { alice in
            let outcome = try await alice.user.account.command(["mcp", alice.url]).withInput { bridge in
                try await bridge.write(MCPMessage.initialize + "\n")
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

    @Test func `Ends on SIGTERM while its output is blocked`() async throws {
        try await MCPUser.run { alice in
            let seen = try await alice.client("blocked_output")
            #expect(seen == ["held": .boolean(true), "status": .integer(-15)])
            #expect(try await alice.log().requests.last?.method == "DELETE")
        }
    }
}
