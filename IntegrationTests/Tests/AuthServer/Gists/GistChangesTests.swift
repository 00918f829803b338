import HTTPTypes
import Testing

@testable import auth_server

@Suite("Gist changes")
struct GistChangesTests {
    @Test("Creating a gist stores the description and the files")
    func creates() async throws {
        try await TestServer().run { api in
            let alice = try await GistClient(api)
            let body: JSONObject = [
                "description": "Two files", "public": true,
                "files": ["a.txt": ["content": "one"], "b": ["content": "zwölf"]],
            ]
            let created = try await alice.send(.post, "/gists", body)
            #expect(created.status == 201)
            let id = try created.string("id")
            #expect(created.headers[.location] == "http://localhost/gists/\(id)")
            let gist = try await alice.get("/gists/\(id)")
            #expect(gist.json == created.json)
            #expect(gist.json["description"] == "Two files")
            #expect(gist.json["public"] == true)
            #expect(gist.json["files"]?["a.txt"]?["content"] == "one")
            #expect(gist.json["files"]?["a.txt"]?["truncated"] == false)
            #expect(gist.json["files"]?["b"]?["content"] == "zwölf")
            #expect(gist.json["files"]?["b"]?["size"] == 6)
        }
    }

    @Test(
        "The gists API rejects an invalid gist with a reason",
        arguments: [
            (#"{"#, 400, nil), (#"[]"#, 400, nil), ("", 400, nil),
            (#"{}"#, 422, "missing_field files"), (#"{"files":{}}"#, 422, "missing_field files"),
            (#"{"files":{"a":{"content":""}}}"#, 422, "missing_field files"),
            (#"{"files":{"a":{}}}"#, 422, "missing_field files"),
            (#"{"files":{"a":7}}"#, 422, "invalid files"), (#"{"files":"a"}"#, 422, "invalid files"),
            (#"{"description":7}"#, 422, "invalid description"), (#"{"public":7}"#, 422, "invalid public"),
        ] as [(String, Int, String?)])
    func refuses(body: String, status: Int, problem: String?) async throws {
        try await TestServer().run { api in
            let alice = try await GistClient(api)
            let response = try await api.send(.post, "/gists", bearer: alice.token, body: body)
            #expect(response.status == status)
            #expect(response.json["status"] == .string(String(status)))
            #expect(response.json["documentation_url"] != nil)
            let parts = problem?.split(separator: " ").map { JSONValue.string(String($0)) }
            #expect(response.json["errors"] == parts.map { [["resource": "Gist", "code": $0[0], "field": $0[1]]] })
            #expect(try await api.gistChanges().isEmpty)
        }
    }

    @Test("Editing a gist changes the description or the files independently")
    func edits() async throws {
        let test = try TestServer()
        try await test.run { api in
            let alice = try await GistClient(api)
            let path = "/gists/" + (try await alice.create())
            test.clock.offset = 60
            let described = try await alice.send(.patch, path, ["description": "new"])
            #expect(described.status == 200)
            #expect(described.json["description"] == "new")
            #expect(described.json["created_at"] == "2027-01-15T08:00:00Z")
            #expect(described.json["updated_at"] == "2027-01-15T08:01:00Z")
            #expect(described.json["files"]?["a.txt"]?["content"] == "one")

            func files(_ change: JSONValue) async throws -> [String: JSONValue?] {
                let response = try await alice.send(.patch, path, ["files": change])
                try #require(response.status == 200, "\(response.body)")
                #expect(response.json["description"] == "new")
                guard case .object(let files) = response.json["files"] else { return [:] }
                return files.mapValues { $0["content"] }
            }
            #expect(try await files(["b.txt": ["content": "two"]]) == ["a.txt": "one", "b.txt": "two"])
            #expect(try await files(["a.txt": ["filename": "c.txt"]]) == ["c.txt": "one", "b.txt": "two"])
            #expect(
                try await files(["c.txt": ["filename": "a.txt", "content": "1"], "b.txt": .null]) == ["a.txt": "1"])
            #expect(
                try await files(["a.txt": ["content": ""], "d.txt": ["content": "3"]]) == ["d.txt": "3"])
            #expect(try await files(["d.txt": ["filename": "a.txt", "content": "1"]]) == ["a.txt": "1"])
            // Removing a missing file succeeds, so a client may send the same request twice.
            #expect(try await files(["b.txt": .null]) == ["a.txt": "1"])
            #expect(try await alice.send(.patch, path, ["description": .null]).json["description"] == .null)
        }
    }

    @Test(
        "The gists API rejects edits that are invalid or would leave no file",
        arguments: [
            #"{}"#, #"{"files":{"a.txt":null}}"#, #"{"files":{"none":{"filename":"x"}}}"#,
            #"{"files":{"a.txt":{"filename":""}}}"#, #"{"files":{"a.txt":{"content":""}}}"#,
            #"{"files":{"new.txt":{"content":""}}}"#, #"{"files":{"a.txt":{}}}"#,
            #"{"files":{"a.txt":{"filename":null}}}"#, #"{"files":{"b":{"content":"x","filename":"a.txt"}}}"#,
        ])
    func refusesEdits(body: String) async throws {
        try await TestServer().run { api in
            let alice = try await GistClient(api)
            let path = "/gists/" + (try await alice.create())
            let before = try await alice.get(path)
            #expect(try await api.send(.patch, path, bearer: alice.token, body: body).status == 422)
            #expect(try await alice.get(path).body == before.body)
            #expect(try await api.gistChanges().count == 1)
        }
    }

    @Test("A deleted gist is not found and cannot be changed")
    func deletes() async throws {
        try await TestServer().run { api in
            let alice = try await GistClient(api)
            let path = "/gists/" + (try await alice.create())
            _ = try await alice.send(.put, path + "/star")
            let deleted = try await alice.send(.delete, path)
            #expect(deleted.status == 204)
            #expect(deleted.body.isEmpty)
            for list in ["/gists", "/gists/starred"] { #expect(try await alice.get(list).items.isEmpty) }
            for method in [HTTPRequest.Method.get, .delete] {
                let response = try await alice.send(method, path)
                #expect(response.status == 404)
                #expect(response.json["message"] == "Not Found")
                #expect(response.json["status"] == "404")
            }
            #expect(try await alice.send(.patch, path, ["description": "x"]).status == 404)
            #expect(try await alice.send(.put, path + "/star").status == 404)
        }
    }

    @Test("Starring or unstarring a gist twice has no further effect")
    func stars() async throws {
        try await TestServer().run { api in
            let alice = try await GistClient(api)
            let star = "/gists/" + (try await alice.create()) + "/star"
            #expect(try await alice.get(star).status == 404)
            for _ in 1...2 { #expect(try await alice.send(.put, star).status == 204) }
            #expect(try await alice.get(star).status == 204)
            for _ in 1...2 { #expect(try await alice.send(.delete, star).status == 204) }
            #expect(try await alice.get(star).status == 404)
            let changes = try await api.gistChanges()
            #expect(changes.map { $0["method"] } == ["POST", "PUT", "PUT", "DELETE", "DELETE"])
            #expect(changes.map { $0["changed"] } == [true, true, false, true, false])
        }
    }

    @Test("A long file of a gist is cut between characters, but not at its URL")
    func truncates() async throws {
        try await TestServer().run { api in
            _ = try await api.post("/control/gists-settings", json: #"{"contentLimit":4}"#)
            let alice = try await GistClient(api)
            let name = "a b%/ü.txt"
            let response = try await alice.send(.post, "/gists", ["files": [name: ["content": "abcüdef"]]])
            let file = try #require(response.json["files"]?[name])
            #expect(file["content"] == "abc")
            #expect(file["truncated"] == true)
            #expect(file["size"] == 8)
            guard case .string(let url) = file["raw_url"] else { throw API.Missing(description: response.body) }
            let raw = try await api.get(String(url.dropFirst("http://localhost".count)))
            #expect(raw.status == 200)
            #expect(raw.body == "abcüdef")
        }
    }
}
