import AccountCommands
import AccountHTTP
import AccountKit
import AccountTesting
import ArgumentParser
import Foundation
import HTTPTypes
import Testing

struct Draft: Codable {
    var title: String
}

enum APICalls {
    static func call(_ api: AuthenticatedClient) async throws -> (drafts: [Draft], created: Draft) {
        // snippet.calls
        let drafts: [Draft] = try await api.get("/notes?page=2").decoded()
        let created: Draft = try await api.post("/notes", Draft(title: "Milk")).decoded()
        _ = try await api.delete("/notes/1")
        // snippet.end
        return (drafts, created)
    }

    static func request(_ api: AuthenticatedClient) async throws -> Int {
        // snippet.request
        let request = HTTPRequest(
            method: .get, scheme: nil, authority: nil, path: "/notes/export", headerFields: [.accept: "text/csv"])
        let response = try await api.send(request)
        if response.head.status == .notFound { return 0 }
        return response.body.count
        // snippet.end
    }
}

// snippet.command
struct CountNotes: AsyncParsableCommand {
    @Option var list = "inbox"

    func run() async throws {
        let authority = try Notes.authority()
        let api = try AuthenticatedClient(
            origin: "https://api.example.com", store: Notes.store(), authority: authority)
        print(try await output(of: api))
    }

    /// Returns what the command prints. A test passes a client with its own store and transport.
    func output(of api: AuthenticatedClient) async throws -> String {
        let notes: [Draft] = try await api.get("/notes?list=\(list)").decoded()
        return "You have \(notes.count) notes."
    }
}
// snippet.end

enum BoundTokens {
    static func authority() throws -> OAuthAuthority {
        // snippet.bound
        let authority = try OAuthAuthority(
            issuer: "https://login.example.com", clientID: "notes", options: OAuthRequestOptions(bindsTokens: true))
        // snippet.end
        return authority
    }
}

enum OtherAPI {
    static func token(_ store: AccountStore, _ authority: any AccountAuthority) async throws -> Secret {
        // snippet.derived
        let billing = try TokenTarget(resources: ["https://billing.example.com/"], scopes: ["invoices:read"])
        let token = try await store.accessToken(for: billing, with: authority)
        // snippet.end
        return token
    }
}

struct APITests {
    // snippet.run
    @Test func countsTheNotesOfAList() async throws {
        let command = try CountNotes.parse(["--list", "work"])
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: ManualClock().now))
        let transport = ScriptedTransport([.json(#"[{"title": "Milk"}]"#)])
        let api = try AuthenticatedClient(
            origin: "https://api.example.com", store: store, authority: ScriptedAuthority(), transport: transport.send)
        #expect(try await command.output(of: api) == "You have 1 notes.")
        #expect(transport.requests.map(\.head.path) == ["/notes?list=work"])
    }

    @Test func namesTheCaptivePortal() async throws {
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: ManualClock().now))
        let transport = ScriptedTransport([.refuse(.intercepted("a web page of the hotel"))])
        let api = try AuthenticatedClient(
            origin: "https://api.example.com", store: store, authority: ScriptedAuthority(), transport: transport.send)
        let command = try CountNotes.parse([])
        await expectAccountError(.serviceUnavailable) { try await command.output(of: api) }  // exit code 69
    }
    // snippet.end

    // snippet.api
    @Test func refreshesAnExpiredTokenAndRepeatsTheRequest() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: clock.now), clock: clock)
        let transport = ScriptedTransport([.expiredToken, .json(#"[{"title": "Milk"}]"#)])
        let api = try AuthenticatedClient(
            origin: "https://api.example.com", store: store, authority: ScriptedAuthority(clock: clock),
            transport: transport.send)
        clock.advance(by: .seconds(60))  // a refused token is not refreshed in its first minute
        let drafts: [Draft] = try await api.get("/notes").decoded()
        #expect(drafts.map(\.title) == ["Milk"])
        let tokens = transport.requests.map { $0.head.headerFields[.authorization] }
        #expect(tokens == ["Bearer access-1", "Bearer access-2"])
    }
    // snippet.end

    private func client(_ responses: [ScriptedTransport.Response]) async throws -> AuthenticatedClient {
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: ManualClock().now))
        return try AuthenticatedClient(
            origin: "https://api.example.com", store: store, authority: ScriptedAuthority(),
            transport: ScriptedTransport(responses).send)
    }

    @Test func `Sends and receives API values as JSON`() async throws {
        let api = try await client([.json(#"[{"title": "Eggs"}]"#), .json(#"{"title": "Milk"}"#), .status(.noContent)])
        let (drafts, created) = try await APICalls.call(api)
        #expect(drafts.map(\.title) == ["Eggs"])
        #expect(created.title == "Milk")
    }

    @Test func `Sends a custom API request unchanged`() async throws {
        #expect(try await APICalls.request(try await client([.status(.notFound)])) == 0)
        #expect(try await APICalls.request(try await client([.json("1,2")])) == 3)
    }

    @Test func `Throws the status and message when decoding a failed response`() async throws {
        let api = try await client([.json(#"{"message": "There is no such page"}"#, status: .notFound)])
        let response = try await api.get("/notes?page=99")
        let error = #expect(throws: AccountError.self) { try response.decoded(as: [Draft].self) }
        #expect(error?.description.contains("404") == true)
        #expect(error?.description.contains("There is no such page") == true)
    }

    @Test func `Reuses a derived token for another API`() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: clock.now), clock: clock)
        let authority = ScriptedAuthority(clock: clock)
        // The call has a timeout of 10 s. Run it before the other tests, which may occupy the processors for longer.
        let calls = Task(priority: .high) {
            [try await OtherAPI.token(store, authority), try await OtherAPI.token(store, authority)]
        }
        #expect(try await calls.value == [Secret("derived-1"), Secret("derived-1")])
        #expect(authority.requests == [.derive])
    }
}
