@testable import EndToEndSupport
import Testing

/// The name that commands show if the account has no user name.
@Suite(.queued)
struct NamesTests {
    static let rows: [(missing: [String], name: String)] = [
        ([], "alice"), (["preferred_username"], "Alice Liddell"),
        (["preferred_username", "name"], "alice@example.org"),
        (["preferred_username", "name", "email"], "Alice"),
        (["preferred_username", "name", "email", "nickname"], "u-5f0c2a9b7d314e86"),
    ]

    @Test(arguments: rows)
    func `Shows a name instead of the ID, and includes all names in JSON`(
        row: (missing: [String], name: String)
    ) async throws {
        try await Container.run { container in
            try await ExampleServer.run(["--device-interval", "1"]) { server in
                let account = try Tool.account(in: container)
                try await server.alter(.userInfo, omitting: row.missing)
                try await server.alter(.idToken, omitting: row.missing)
                // A password sign-in would provide a user name.
                let login = try await account.logInOnDevice(at: server, ["--issuer", server.issuer])
                #expect(login.exitCode == 0, "\(login)")
                #expect(login.errors.contains("Signed in as \(row.name) at "), "\(login)")
                for words in [["whoami"], ["whoami", "--offline"], ["whoami", "--verify"]] {
                    #expect(try await account.run(words).output == row.name + "\n")
                }
                let profile = try await account("whoami", "--json").document().account?.profile ?? [:]
                let all: [String: JSON] = [
                    "name": .text("Alice Liddell"), "email": .text("alice@example.org"), "nickname": .text("Alice"),
                ]
                for (member, value) in all where !row.missing.contains(member) { #expect(profile[member] == value) }
                let logout = try await account("logout")
                #expect(logout.errors.contains("Signed out \(row.name)."), "\(logout)")
            }
        }
    }

    @Test func `JSON escapes characters that control a terminal or reorder text`() async throws {
        try await SignedInUser.run { user in
            let name = "al\u{7f}\u{9b}31mice\u{202e}bob\u{2066}\u{200f}\u{61c}\u{85}\u{2028}\u{e0041} Zoë アリス"
            try await user.server.alter(.userInfo, omitting: ["preferred_username"], setting: ["name": .text(name)])
            #expect(try await user.account("whoami", "--verify").exitCode == 0)
            for words in [["whoami", "--verify"], ["whoami", "--offline"], ["status"]] {
                let outcome = try await user.account.run(words + ["--json"])
                let raw = outcome.output.dropLast().unicodeScalars.filter {
                    [.control, .format, .lineSeparator].contains($0.properties.generalCategory)
                }
                #expect(raw.isEmpty, "\(outcome)")
                #expect(outcome.output.contains(#"al\u007f\u009b31mice\u202ebob\u2066"#), "\(outcome)")
                #expect(outcome.output.contains(" Zoë アリス"), "\(outcome)")
                #expect(try outcome.document().account?.profile?["name"] == .text(name), "\(outcome)")
            }
        }
    }

    @Test func `Strips control characters from a name on the terminal`() async throws {
        try await SignedInUser.run { user in
            let name = "al\u{1b}[31mice\u{7}\n\u{202e}bob"
            try await user.server.alter(.userInfo, omitting: ["preferred_username"], setting: ["name": .text(name)])
            let outcome = try await user.account("whoami", "--verify")
            #expect(outcome.exitCode == 0, "\(outcome)")
            let unwanted = outcome.output.dropLast().unicodeScalars.filter {
                $0.properties.generalCategory == .control || $0.properties.generalCategory == .format
            }
            #expect(unwanted.isEmpty, "\(unwanted)")
        }
    }
}
