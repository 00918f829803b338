@testable import EndToEndSupport
import Foundation
import Testing

/// Places where tokens must not appear. `OAuthAuthorityTests` has the table of services that repeat secrets in errors, and
/// `FileArchiveStorageTests` has the table of umasks.
@Suite(.queued)
struct SecrecyTests {
    /// The tokens that a server has issued so far, read from its state file, and the password.
    private func secrets(_ stateFile: String) throws -> [String] {
        let state = try String(contentsOfFile: stateFile, encoding: .utf8)
        let tokens = state.matches(of: /"((?:at|rt)_[A-Za-z0-9_-]{43})"/).map { String($0.output.1) }
        try #require(tokens.contains { $0.hasPrefix("at_") } && tokens.contains { $0.hasPrefix("rt_") })
        return tokens + [ExampleServer.alicePassword]
    }

    /// The encodings in which a secret might be written.
    private func forms(of secret: String) -> [Data] {
        let bytes = Data(secret.utf8)
        // The part of the base64 text that does not depend on the offset within a group of three bytes.
        let base64 = (0..<3).map { Data(bytes.dropFirst($0).base64EncodedString().prefix(40).utf8) }
        let hexadecimal = Data(bytes.map { String(format: "%02x", $0) }.joined().utf8)
        return [bytes, Data(bytes.reversed()), Data(secret.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), 0] })]
            + base64 + [hexadecimal]
    }

    private func expect(
        none secrets: [String], in bytes: Data, of place: String, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for secret in secrets {
            let isThere = forms(of: secret).contains { bytes.range(of: $0) != nil }
            #expect(
                !isThere, "a \(secret.prefix(2)) token, or the password, is in \(place)", sourceLocation: sourceLocation
            )
        }
    }

    private func expect(
        none secrets: [String], in outcome: Outcome, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        expect(
            none: secrets, in: Data((outcome.output + outcome.errors).utf8), of: outcome.command,
            sourceLocation: sourceLocation)
    }

    private func expect(
        none secrets: [String], in container: Container, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let entries = try container.contents().filter { !$0.key.hasPrefix("state.json") }
        #expect(entries.count > 5, sourceLocation: sourceLocation)
        for (path, entry) in entries {
            expect(none: secrets, in: Data(entry.bytes), of: path, sourceLocation: sourceLocation)
        }
    }

    /// Runs a test with a server that writes the tokens that it issues to a state file.
    private func run(_ test: (SignedInUser, _ stateFile: String) async throws -> Void) async throws {
        try await Container.run { container in
            let stateFile = container.path("state.json")
            try await ExampleServer.run(["--state", stateFile]) { server in
                try await test(
                    SignedInUser(server: server, container: container, account: try .account(in: container)), stateFile)
            }
        }
    }

    @Test func `No token or password is in files, JSON, logs or messages`() async throws {
        try await run { user, stateFile in
            let login = ["login", "--issuer", user.server.issuer, "--username", "alice", "--password-stdin"]
            var outcomes = [
                try await user.account.run(login + ["-v", "--json"], input: ExampleServer.alicePassword + "\n")
            ]
            try expect(none: try secrets(stateFile), in: user.container)
            for arguments in [
                ["whoami", "--max-age", "0", "-v"], ["whoami", "--json", "-v"], ["status"], ["status", "--json"],
                ["sessions", "--json"], ["refresh", "-v", "--json"], ["doctor", "--json"],
                ["switch", "default", "--json"],
            ] {
                outcomes.append(try await user.account.run(arguments))
                #expect(outcomes.last?.exitCode == 0)
            }
            try expect(none: try secrets(stateFile), in: user.container)
            outcomes.append(try await user.account("logout", "-v", "--json"))
            try expect(none: try secrets(stateFile), in: user.container)
            for outcome in outcomes { expect(none: try secrets(stateFile), in: outcome) }
        }
    }

    /// `ArgumentSecretsTests` has the table of arguments.
    @Test func `Errors do not repeat a token that is an argument`() async throws {
        try await run { user, _ in
            try await user.signIn()
            let token = try await user.account.storedToken()
            for arguments in [["token", token], [token], ["switch", token, "--json"], ["exec", "--", token]] {
                let outcome = try await user.account.run(arguments)
                #expect(outcome.exitCode != 0 && outcome.errors.contains("(not shown)"), "\(outcome)")
                expect(none: [token], in: outcome)
            }
        }
    }

    @Test func `Files are private, and the archive shows neither user nor service`() async throws {
        try await run { user, _ in
            let login = user.account.command(
                ["login", "--issuer", user.server.issuer, "--username", "alice", "--password-stdin"])
            for umask in ["000", "777"] {
                let outcome = try await login.run(by: "sh", "-c", "umask \(umask); exec \"$@\"", "sh").run(
                    input: ExampleServer.alicePassword + "\n")
                #expect(outcome.exitCode == 0, "\(outcome)")
                for (path, entry) in try user.container.contents() where path.hasPrefix("container") {
                    #expect(entry.permissions == (entry.kind == .typeDirectory ? 0o700 : 0o600), "\(path)")
                }
                let archive = Data(try #require(try user.container.entry(user.container.archive)).bytes)
                for text in ["alice", "Alice", ExampleServer.aliceID, "127.0.0.1", "account-cli"] {
                    #expect(archive.range(of: Data(text.utf8)) == nil, "\(text)")
                }
                try FileManager.default.removeItem(atPath: user.container.home)
            }
        }
    }

    /// Requests that fail, at a service that repeats the received secrets in each field of the response.
    private static let echoes: [(path: String, status: Int, arguments: [String])] = [
        ("/oauth/userinfo", 401, ["whoami", "--max-age", "0"]), ("/oauth/token", 400, ["refresh"]),
        ("/oauth/token", 400, ["login", "--username", "alice", "--password-stdin"]),
    ]

    @Test func `Neither shows nor stores a token that a service repeats`() async throws {
        try await run { user, stateFile in
            try await user.signIn()
            let outcome = try await user.account("token", "--json", "-v")
            let access = try await user.account.storedToken()
            #expect(outcome.output.contains("\"token\":\"\(access)\""))
            expect(none: [access], in: Data(outcome.errors.utf8), of: "standard error")
            expect(none: try secrets(stateFile).filter { $0 != access }, in: outcome)

            try await user.server.alter(
                .userInfo, setting: ["access_token": .text(access), "nickname": .text("the one with \(access)")])
            let profile = try await user.account("whoami", "--max-age", "0", "--json")
            #expect(try profile.document().account?.username == "alice")
            expect(none: [access], in: profile)

            let issued = try secrets(stateFile)
            let all = issued.joined(separator: " ")
            let body = JSON.object([
                "error": .text(all), "error_description": .text("bad token " + all), "error_uri": .text(all),
                "sub": .text(all), "token_type": .text(all), "message": .text(all),
            ])
            for (path, status, arguments) in Self.echoes {
                try await user.server.setFaults(
                    Fault(
                        path: path, status: status,
                        headers: ["WWW-Authenticate": "Bearer error=\"\(all)\", realm=\"\(all)\""],
                        body: String(decoding: try JSONEncoder().encode(body), as: UTF8.self)))
                let input = ExampleServer.alicePassword + "\n"
                let outcome = try await user.account.run(arguments + ["-v", "--json"], input: input)
                expect(none: issued, in: outcome)
                try expect(none: issued, in: user.container)
            }
        }
    }
}
