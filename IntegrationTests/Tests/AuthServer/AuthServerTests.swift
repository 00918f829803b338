import ArgumentParser
import Subprocess
import Testing

@testable import auth_server

@Suite("auth-server command", .timeLimit(.minutes(15)))
struct AuthServerTests {
    @Test(
        "auth-server rejects hosts outside the loopback interface",
        arguments: ["0.0.0.0", "::", "192.168.1.7", "example.org"]
    )
    func refusesOtherHosts(host: String) throws {
        let error = try #require(throws: (any Error).self) { try AuthServer.parse(["--host", host]) }
        #expect(AuthServer.message(for: error).contains("is not on the loopback interface"))
        #expect(AuthServer.exitCode(for: error) == .validationFailure)
    }

    @Test(
        "auth-server rejects invalid options",
        arguments: [
            ["--port", "70000"], ["--access-token-lifetime", "-1"], ["--device-interval", "-1"],
            ["--device-code-lifetime", "-1"], ["--refresh-rotation", "maybe"], ["--reuse-detection", "no"],
            ["--quirks", "myspace"], ["--expiring-tokens"], ["--quirks", "google", "--expiring-tokens"],
            ["--tls-key", "key.pem"], ["--tls-certificate", "certificate.pem"], ["--demo-user", "carol"],
            ["--refresh-tokens", "some"], ["--revocation-ends", "everything"], ["--client-authentication", "none"],
            ["--user-info-refusal", "body", "--quirks", "github"],
        ]
    )
    func refusesNonsense(arguments: [String]) {
        #expect(throws: (any Error).self) { try AuthServer.parse(arguments) }
    }

    @Test("auth-server prints one line and keeps the state over a restart")
    func runs() async throws {
        try await withTemporaryDirectory { directory in
            let state = directory + "/state.json"
            var refreshToken = ""
            let first = try await BuiltServer.run(["--state", state]) { port in
                let response = try await RawConnection.token(
                    port: port,
                    "grant_type=password&username=bob&password=hunter2+but+longer"
                )
                refreshToken = try #require(response.firstMatch(of: /"refresh_token":"([^"]+)"/)).output.1.description
            }
            #expect(first.lines == ["listening on http://127.0.0.1:\(first.port)"])
            #expect(first.endedCleanly)
            #expect(first.log.contains("POST /oauth/token password 200"))
            #expect(!first.log.contains("hunter2"))

            let arguments = ["--state", state, "--port", String(first.port), "--quiet"]
            let second = try await BuiltServer.run(arguments) { port in
                let response = try await RawConnection.token(
                    port: port,
                    "grant_type=refresh_token&refresh_token=\(refreshToken)"
                )
                #expect(response.hasPrefix("HTTP/1.1 200 OK\r\n"))
            }
            #expect(second.port == first.port)
            #expect(second.lines == first.lines)
            #expect(second.endedCleanly)
            #expect(second.log.isEmpty)
        }
    }

    @Test("auth-server ends without waiting for a delayed response")
    func endsDuringDelay() async throws {
        var waiting: Task<String, any Error>?
        let run = try await BuiltServer.run([]) { port in
            let faults = #"{"faults":[{"path":"/device","delayMilliseconds":600000}]}"#
            let response = try await RawConnection.post(port: port, "/control/faults", faults)
            #expect(response.hasSuffix(#"{"faults":1}"#))
            waiting = Task { try await RawConnection.get(port: port, "/device") }
            // The log contains the request while its response is delayed.
            let deadline = ContinuousClock.now + .seconds(120)
            while try await !RawConnection.get(port: port, "/control/log").contains("/device") {
                try #require(ContinuousClock.now < deadline)
            }
        }
        #expect(run.endedCleanly)
        #expect(try await waiting?.value == "")
    }

    @Test("auth-server reports a port that is in use and exits")
    func refusesTakenPorts() async throws {
        let run = try await BuiltServer.run(["--quiet"]) { port in
            let result = try await Subprocess.run(
                .name("env"),
                arguments: Arguments([try BuiltServer.path(), "--port", String(port)]),
                output: .string(limit: 1024),
                error: .string(limit: 4096)
            )
            #expect(result.terminationStatus == .exited(1))
            #expect(result.standardOutput == "")
            #expect(result.standardError.hasPrefix("Error: cannot listen on 127.0.0.1:\(port): "))
        }
        #expect(run.endedCleanly)
    }

    @Test("auth-server reports an unreadable certificate and exits")
    func refusesBadCertificates() async throws {
        let arguments = ["--tls-certificate", "/nonexistent/c.pem", "--tls-key", "/nonexistent/k.pem"]
        let result = try await Subprocess.run(
            .name("env"),
            arguments: Arguments([try BuiltServer.path()] + arguments),
            output: .string(limit: 1024),
            error: .string(limit: 4096)
        )
        #expect(result.terminationStatus == .exited(1))
        #expect(result.standardOutput == "")
        #expect(result.standardError.contains("cannot read a certificate from /nonexistent/c.pem"))
    }
}
