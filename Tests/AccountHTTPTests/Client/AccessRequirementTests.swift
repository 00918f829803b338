import AccountKit
import AccountTesting
import HTTPTypes
import Testing

@testable import AccountHTTP

struct AccessRequirementTests {
    private func requirement(_ status: Int, _ challenge: String) -> AccessRequirement? {
        AccessRequirement(ServiceResponse(status, ["WWW-Authenticate": challenge]), hiding: [Secret(canary)])
    }

    @Test func `Reads the missing scopes from a 403`() {
        #expect(
            requirement(
                403, #"Bearer error="insufficient_scope", scope="a b", resource_metadata="https://x.example/m""#)
                == AccessRequirement(scopes: ["a", "b"], resourceMetadata: "https://x.example/m"))
        #expect(requirement(403, #"Bearer error="insufficient_scope""#) == AccessRequirement())
    }

    @Test func `Reads the required authentication from a 401`() {
        let start = #"Bearer error="insufficient_user_authentication""#
        #expect(
            requirement(401, start + #", acr_values="mfa pwd", max_age="300""#)
                == AccessRequirement(acrValues: ["mfa", "pwd"], maxAge: .seconds(300)))
        #expect(requirement(401, #"Bearer max_age=0"#) == AccessRequirement(maxAge: .zero))
    }

    @Test(arguments: [
        (
            403,
            #"Bearer error="insufficient_scope", scope="a \#(canary) x\#(canary)", resource_metadata="https://x.example/\#(canary)""#
        ),
        (401, #"Bearer acr_values="\#(canary) a", max_age=5, scope="\#(canary)""#),
    ])
    func `Leaves out values that repeat the token`(status: Int, challenge: String) {
        let found = requirement(status, challenge)
        let expected =
            status == 403
            ? AccessRequirement(scopes: ["a"]) : AccessRequirement(acrValues: ["a"], maxAge: .seconds(5))
        #expect(found == expected)
    }

    @Test(arguments: [
        (401, #"Bearer error="insufficient_scope", scope="a""#), (401, #"Bearer error="invalid_token", max_age=5"#),
        (401, "Bearer"), (401, #"Bearer max_age="-1""#), (403, "Bearer"), (403, #"Bearer error="invalid_token""#),
        (403, #"Basic error="insufficient_scope""#), (200, #"Bearer error="insufficient_scope""#),
        (403, #"Bearer error="insufficient_scope", Bearer error="other""#),
    ])
    func `Other responses have no requirement`(status: Int, challenge: String) {
        #expect(requirement(status, challenge) == nil)
    }

    @Test(arguments: [
        (
            403, #"Bearer error="insufficient_scope", scope="notes:write a`b""#, AccountError.Code.insufficientScope,
            "--step-up --scope=notes:write --scope='a`b'"
        ),
        (401, #"Bearer error="insufficient_user_authentication", acr_values="mfa""#, .stepUpRequired, "--step-up"),
    ])
    func `The client throws an error that names what is missing`(
        status: Int, challenge: String, code: AccountError.Code, options: String
    ) async throws {
        try await LoopbackServer.run { _, _ in
            .response(status, ["WWW-Authenticate": challenge])
        } _: { server in
            let authority = ScriptedAuthority()
            let store = try await AccountStore.inMemory(signedIn: .fresh(at: ManualClock().now))
            let client = try AuthenticatedClient(origin: server.address, store: store, authority: authority)
            let error = await #expect(throws: AccountError.self) { try await client.get("/") }
            #expect(error?.code == code)
            #expect(error?.accessRequirement != nil)
            #expect(error?.hint == "sign in again for it (on a command line, with `login \(options)`)")
            #expect(server.requests.count == 1)
            #expect(authority.requests.isEmpty)
            #expect(store.account != nil)
        }
    }
    /// The head of a response with a body that never ends.
    private static func stream(_ status: Int, _ fields: String...) -> LoopbackServer.Action {
        let head = ["HTTP/1.1 \(status) x", "Transfer-Encoding: chunked"] + fields
        return .send(head.joined(separator: "\r\n") + "\r\n\r\n5\r\ndata:\r\n")
    }

    @Test(arguments: [200, 403])
    func `Reads the requirement of an API whose response is a stream`(status: Int) async throws {
        try await LoopbackServer.run { _, _ in
            Self.stream(status, #"WWW-Authenticate: Bearer error="insufficient_scope", scope="a""#)
        } _: { server in
            let api = try OAuthAuthority(
                api: server.address + "/mcp", client: OAuthClient(identifier: "tool"), timeout: .seconds(20))
            var account = AccountHTTPTests.account(at: server.address)
            account.credentials.resources = [server.address + "/mcp"]
            let requirement = try await api.requirement(for: account)
            #expect(requirement == (status == 403 ? AccessRequirement(scopes: ["a"]) : nil))
        }
    }

    @Test func `Does not wait for the body of a streamed response with a requirement`() async throws {
        try await LoopbackServer.run { _, _ in
            Self.stream(403, #"WWW-Authenticate: Bearer error="insufficient_scope", scope="a""#)
        } _: { server in
            let store = try await AccountStore.inMemory(signedIn: .fresh(at: ManualClock().now))
            let client = try AuthenticatedClient(origin: server.address, store: store, authority: ScriptedAuthority())
            let error = await #expect(throws: AccountError.self) {
                try await client.stream(HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/")) { _, _ in }
            }
            #expect(error?.accessRequirement == AccessRequirement(scopes: ["a"]))
        }
    }

    @Test func `Names the requirement even if the body is longer than the limit`() async throws {
        let challenge = #"Bearer error="insufficient_scope", scope="a""#
        try await LoopbackServer.run { _, _ in
            .response(403, ["WWW-Authenticate": challenge], String(repeating: "x", count: 100))
        } _: { server in
            let store = try await AccountStore.inMemory(signedIn: .fresh(at: ManualClock().now))
            let client = try AuthenticatedClient(
                origin: server.address, store: store, authority: ScriptedAuthority(), maximumResponseLength: 10)
            let error = await #expect(throws: AccountError.self) { try await client.get("/") }
            #expect(error?.accessRequirement == AccessRequirement(scopes: ["a"]))
        }
    }
}
