import AsyncHTTPClient
@testable import EndToEndSupport
import Foundation
import NIOHTTP1
import Testing

/// The features of the example server on which the tests of `gists` depend, such as the report of the applied changes.
@Suite(.queued) struct GistServiceTests {
    private let body = Array(#"{"description":"x","files":{"a.txt":{"content":"one"}}}"#.utf8)

    @Test func `The server drops a connection before or after applying a change`() async throws {
        try await ExampleServer.run { server in
            let (token, url) = (try await server.issueToken(), server.issuer + "/gists")
            try await server.arm(.dropped.on("POST"), .appliedButDropped.on("POST"))
            for applied in [0, 1] {
                await #expect(throws: HTTPClientError.remoteConnectionClosed) {
                    try await HTTP.send(.POST, url, bearer: token, body: body)
                }
                #expect(try await server.appliedChanges().count == applied)
            }
            #expect(try await HTTP.get(url, bearer: token).status == 200)
            #expect(try await server.gists().map(\.files) == [["a.txt": "one"]])
            #expect(try await server.gistRequests() == ["POST /gists": 2, "GET /gists": 1])
            #expect(try await server.allGists(of: "bob").changes.isEmpty)
        }
    }

    @Test func `Each simulated fault affects one request only`() async throws {
        try await ExampleServer.run { server in
            try await server.seedGists(2)
            let (token, url) = (try await server.issueToken(), server.issuer + "/gists")
            let faults: [(Fault, Int)] = [
                (.serverError(502), 502), (.serverError(retryAfter: 3), 503), (.rateLimited(resetIn: 60), 403),
                (.secondaryRateLimited(429, retryAfter: 60), 429), (.captivePortal, 200), (.emptyList, 200),
                (.badCredentials, 401), (.appliedBut(status: 500), 500),
            ]
            for (fault, status) in faults {
                try await server.arm(fault)
                #expect(try await HTTP.get(url, bearer: token).status == status)
                let real = try await HTTP.get(url, bearer: token)
                #expect(real.status == 200)
                #expect(real.text.contains("Gist 2"))
            }
            try await server.arm(.appliedButTruncated)
            await #expect(throws: (any Error).self) { try await HTTP.get(url, bearer: token) }
        }
    }

    @Test func `The server holds a change until the test opens the gate`() async throws {
        try await ExampleServer.run { server in
            let (token, url) = (try await server.issueToken(), server.issuer + "/gists")
            for (phase, applied) in [(ExampleServer.Phase.before, 0), (.after, 2)] {
                let gate = try await server.hold(.nothing.on("POST"), phase)
                async let created = HTTP.send(.POST, url, bearer: token, body: body)
                try await gate.waitUntilHeld()
                #expect(try await server.appliedChanges().count == applied)
                try await gate.open()
                #expect(try await created.status == 201)
            }
        }
    }

    @Test func `Clients see another program's gists, even after a restart`() async throws {
        try await Container.run { container in
            let state = ["--state", container.path("state.json"), "--port", String(try FreePort.find())]
            let gist = try await ExampleServer.run(state) { server in
                let ids = try await server.seedGists(3, isStarred: true)
                let gist = try await server.createGist(description: "x", isPublic: true)
                let edited = try await server.editGist(gist.id, files: ["b.txt": "two", "a.txt": nil])
                #expect(edited.files == ["b.txt": "two"])
                #expect(edited.updatedAt > gist.updatedAt)
                try await server.deleteGist(ids[0])
                try await server.setStar(true, gist.id)
                try await server.setStar(false, ids[1])
                return gist.id
            }
            try await ExampleServer.run(state) { server in
                let gists = try await server.allGists(of: "alice")
                #expect(gists.gists.map(\.description) == ["x", "Gist 3", "Gist 2"])
                #expect(Set(gists.starred(by: "alice").map(\.description)) == ["x", "Gist 3"])
                #expect(gists.changes.isEmpty)
                #expect(try await HTTP.get(server.issuer + "/gists/" + gist).status == 200)
            }
        }
    }
}
