import Foundation
import Testing

@testable import auth_server

@Suite("State file")
struct StateFileTests {
    @Test("Grants, spent tokens, sessions and devices survive a restart")
    func survivesRestart() async throws {
        try await withTemporaryDirectory { directory in
            let file = StateFile(path: directory + "/state.json")
            let login = #"{"username":"alice","password":"correct horse battery staple"}"#
            let grantType = "urn:ietf:params:oauth:grant-type:device_code"
            let kept = Kept()
            try await TestServer(file: file).run { api in
                let tokens = try await api.signIn()
                await kept.set("spent", tokens.refresh)
                await kept.set("refresh", try await api.refresh(tokens.refresh).string("refresh_token"))
                await kept.set("access", tokens.access)
                let device = try await api.form("/oauth/device_authorization", [:])
                await kept.set("device", try device.string("device_code"))
                let session = try await api.post("/login", json: login)
                guard case .object(let data) = session.json["data"], case .string(let token) = data["token"] else {
                    throw API.Missing(description: session.body)
                }
                await kept.set("session", token)
            }
            try await TestServer(file: file).run { api in
                #expect(try await api.userInfo(await kept.get("access")).status == 200)
                #expect(try await api.post("/userinfo", bearer: await kept.get("session")).json["status"] == "ok")
                let poll = try await api.form(
                    "/oauth/token",
                    ["grant_type": grantType, "device_code": await kept.get("device")]
                )
                #expect(poll.error == "authorization_pending")
                #expect(try await api.refresh(await kept.get("refresh")).status == 200)
            }
            try await TestServer(file: file).run { api in
                let reuse = try await api.refresh(await kept.get("spent"))
                #expect(reuse.error == "invalid_grant")
                #expect(try await api.count("reuseAlarms") == 1)
            }
            try await TestServer(file: file).run { api in
                let response = try await api.userInfo(await kept.get("access"))
                #expect(response.status == 401)
            }
        }
    }

    @Test("The state file is private and is replaced without leftover files")
    func isPrivate() async throws {
        try await withTemporaryDirectory { directory in
            let file = StateFile(path: directory + "/state.json")
            for _ in 1...2 {
                try await TestServer(file: file).run { api in _ = try await api.signIn() }
                let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
                #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
                #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["state.json"])
            }
        }
    }

    @Test("Faults do not survive a restart")
    func forgetsControls() async throws {
        try await withTemporaryDirectory { directory in
            let file = StateFile(path: directory + "/state.json")
            try await TestServer(file: file).run { api in
                _ = try await api.signIn()
                _ = try await api.post("/control/faults", json: #"{"faults":[{"path":"*","status":503}]}"#)
            }
            try await TestServer(file: file).run { api in
                let response = try await api.get("/device")
                #expect(response.status == 200)
            }
        }
    }

    @Test(
        "The server rejects and keeps a state file in another format",
        arguments: ["", "{}", "not JSON", #"{"version":1,"grants":{},"devices":{}}"#]
    )
    func refusesOtherFiles(content: String) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/state.json"
            try Data(content.utf8).write(to: URL(filePath: path))
            #expect(throws: StateFile.Failure.self) { try TestServer(file: StateFile(path: path)) }
            #expect(try Data(contentsOf: URL(filePath: path)) == Data(content.utf8))
        }
    }

    @Test("The server rejects a symbolic link as a state file")
    func refusesLinks() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/state.json"
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: directory + "/elsewhere")
            #expect(throws: StateFile.Failure.self) { try TestServer(file: StateFile(path: path)) }
        }
    }

    @Test("A sign-in that cannot be saved fails with server_error")
    func failsWhenItCannotSave() async throws {
        try await withTemporaryDirectory { directory in
            let test = try TestServer(file: StateFile(path: directory + "/missing/state.json"))
            try await test.run { api in
                let response = try await api.form(
                    "/oauth/token",
                    ["grant_type": "password", "username": "alice", "password": API.alicePassword]
                )
                #expect(response.status == 500)
                #expect(response.error == "server_error")
            }
            #expect(test.logText.contains("No such file or directory"))
        }
    }
}

/// Values that a test passes from one run of the server to the next run.
private actor Kept {
    private var values: [String: String] = [:]

    func set(_ name: String, _ value: String) { values[name] = value }

    func get(_ name: String) -> String { values[name] ?? "" }
}
