import HTTPTypes
import Testing

@testable import auth_server

@Suite("Gist control endpoints")
struct GistControlTests {
    @Test("The control endpoint lists a user's gists and the clients' changes")
    func shows() async throws {
        try await TestServer().run { api in
            let (alice, bob) = (try await GistClient(api), try await GistClient.bob(api))
            let id = try await alice.create()
            _ = try await bob.send(.put, "/gists/\(id)/star")
            let shown = try await api.get("/control/gists?user=alice")
            let gist: JSONValue = [
                "id": .string(id), "owner": "alice", "isPublic": false, "files": ["a.txt": "one"],
                "createdAt": 1_800_000_000, "updatedAt": 1_800_000_000, "starredBy": ["bob"],
            ]
            // The token requests have the numbers 0 and 1.
            let change: JSONValue = [
                "request": 2, "method": "POST", "gist": .string(id), "user": "alice", "at": 1_800_000_000,
                "changed": true,
            ]
            #expect(shown.json == ["gists": [gist], "changes": [change]])
            let all = try await api.gistChanges()
            #expect(all.map { $0["user"] } == ["alice", "bob"])
            #expect(all.map { $0["request"] } == [2, 3])
        }
    }

    @Test("Gist changes by control endpoints do not count as client changes")
    func alters() async throws {
        try await TestServer().run { api in
            let alice = try await GistClient(api)
            let body = #"{"user":"alice","description":"x","files":{"a.txt":{"content":"one"}}}"#
            let id = try await api.post("/control/gists", json: body).string("id")
            #expect(try await alice.get("/gists/\(id)").json["updated_at"] == "2027-01-15T08:00:00Z")
            let edited = try await api.send(
                .patch, "/control/gists/\(id)", body: #"{"files":{"a.txt":{"content":"2"}}}"#)
            #expect(edited.json["files"] == ["a.txt": "2"])
            // The date shows the change even if no time has passed.
            #expect(try await alice.get("/gists/\(id)").json["updated_at"] == "2027-01-15T08:00:01Z")
            let star = #"{"user":"alice","starred":true}"#
            #expect(try await api.post("/control/gists/\(id)/star", json: star).status == 200)
            #expect(try await alice.get("/gists/\(id)/star").status == 204)
            #expect(try await api.delete("/control/gists/\(id)").status == 200)
            #expect(try await alice.get("/gists/\(id)").status == 404)
            #expect(try await api.gistChanges().isEmpty)
        }
    }

    @Test("The control endpoint creates many gists of the requested size")
    func seeds() async throws {
        try await TestServer().run { api in
            let ids = try await api.seed(250, ["name": "Note", "bytes": 500, "isPublic": true, "isStarred": true])
            #expect(Set(ids).count == 250)
            let newest = try await GistClient(api).get("/gists/starred?per_page=1")
            #expect(try newest.members("description") == ["Note 250"])
            let oldest = try await GistClient(api, token: nil).get("/gists/\(ids[0])").json["files"]?["note-1.txt"]
            guard case .integer(let size) = oldest?["size"] else { throw API.Missing(description: "no size") }
            #expect((480...500).contains(size))
        }
    }

    @Test("The server counts gists requests by route, including faulty requests")
    func counts() async throws {
        try await TestServer().run { api in
            let alice = try await GistClient(api)
            let id = try await alice.create()
            _ = try await alice.get("/gists?page=2")
            _ = try await alice.get("/gists/starred")
            _ = try await alice.get("/gists/\(id)")
            _ = try await alice.get("/gists/none")
            try await api.setFaults(#"{"path":"/gists/*","status":503}"#)
            _ = try await alice.send(.put, "/gists/\(id)/star")
            #expect(
                try await api.get("/control/gists-requests").json == [
                    "POST /gists": 1, "GET /gists": 1, "GET /gists/starred": 1, "GET /gists/{id}": 2,
                    "PUT /gists/{id}/star": 1,
                ])
        }
    }

    @Test(
        "Gist control endpoints reject an unknown member or invalid value",
        arguments: [
            ("/control/gists-seed", #"{"user":"mallory","count":1}"#, 400),
            ("/control/gists-seed", #"{"user":"alice","count":-1}"#, 400),
            ("/control/gists-seed", #"{"user":"alice","number":1}"#, 400),
            ("/control/gists-settings", #"{"etags":true}"#, 400),
            ("/control/gists", #"{"files":{"a":{"content":"x"}}}"#, 400),
            ("/control/gists", #"{"user":"alice","files":{}}"#, 422),
            ("/control/gists/none/star", #"{"user":"alice","starred":true}"#, 404),
        ])
    func refusesNonsense(path: String, body: String, status: Int) async throws {
        try await TestServer().run { api in
            let response = try await api.post(path, json: body)
            #expect(response.status == status)
        }
    }

    @Test("Gists, stars and recorded changes survive a restart")
    func survivesRestart() async throws {
        try await withTemporaryDirectory { directory in
            let file = StateFile(path: directory + "/state.json")
            try await TestServer(file: file).run { api in
                let alice = try await GistClient(api)
                _ = try await alice.send(.put, "/gists/\(try await alice.create())/star")
            }
            try await TestServer(file: file).run { api in
                let alice = try await GistClient(api)
                #expect(try await alice.get("/gists/starred").items.count == 1)
                #expect(try await api.gistChanges().map { $0["method"] } == ["POST", "PUT"])
            }
        }
    }
}
