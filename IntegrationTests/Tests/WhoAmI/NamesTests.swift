@testable import EndToEndSupport
import Testing

/// The name that commands show, in text and in JSON. `AccountTests` has the table of names, and `DisplayTextTests` the
/// table of characters.
@Suite(.queued)
struct NamesTests {
    @Test func `Shows a name instead of the ID, and includes all names in JSON`() async throws {
        try await Container.run { container in
            try await ExampleServer.run(["--device-interval", "1"]) { server in
                let account = try Tool.account(in: container)
                try await server.alter(.userInfo, omitting: ["preferred_username"])
                try await server.alter(.idToken, omitting: ["preferred_username"])
                // A password sign-in would provide a user name.
                let login = try await account.logInOnDevice(at: server, ["--issuer", server.issuer])
                #expect(login.errors.contains("Signed in as Alice Liddell at "), "\(login)")
                for words in [["whoami", "--offline"], ["whoami", "--verify"]] {
                    #expect(try await account.run(words).output == "Alice Liddell\n")
                }
                let profile = try await account("whoami", "--json").document().account?.profile ?? [:]
                #expect(profile["name"] == .text("Alice Liddell") && profile["nickname"] == .text("Alice"))
                #expect(profile["email"] == .text("alice@example.org"))
                let logout = try await account("logout")
                #expect(logout.errors.contains("Signed out Alice Liddell."), "\(logout)")
            }
        }
    }

    @Test func `Escapes control characters of a name in JSON, and strips them from text`() async throws {
        try await SignedInUser.run { user in
            let name = "al\u{7f}\u{9b}31mice\u{202e}bob\u{2066}\u{200f}\u{61c}\u{85}\u{2028}\u{e0041} Zoë アリス"
            try await user.server.alter(.userInfo, omitting: ["preferred_username"], setting: ["name": .text(name)])
            #expect(try await user.account("whoami", "--verify").exitCode == 0)
            for words in [["whoami", "--offline"], ["status"]] {
                let outcome = try await user.account.run(words + ["--json"])
                let raw = outcome.output.dropLast().unicodeScalars.filter {
                    [.control, .format, .lineSeparator].contains($0.properties.generalCategory)
                        // Marks of direction belong to names in Arabic and Hebrew, and change only their neighbors.
                        && !"\u{200f}\u{61c}".unicodeScalars.contains($0)
                }
                #expect(raw.isEmpty, "\(outcome)")
                #expect(outcome.output.contains(#"al\u007f\u009b31mice\u202ebob\u2066"#), "\(outcome)")
                #expect(try outcome.document().account?.profile?["name"] == .text(name), "\(outcome)")
            }
            try await user.server.alter(
                .userInfo,
                setting: [
                    "preferred_username": .text("\u{1b}[2Jali\nce\u{7}\u{202e}"), "name": .text("Ali\u{1b}[2Jce"),
                    "email": .text("a\u{202e}@example.org"), "locale": .text("\u{7}en"),
                ])
            for words in [["whoami", "--verify", "--verbose"], ["status", "--verbose"], ["sessions"], ["logout"]] {
                let outcome = try await user.account.run(words)
                #expect(outcome.exitCode == 0)
                let text = (outcome.output + outcome.errors).unicodeScalars
                #expect(!text.contains { "\u{1b}\u{7}\u{202e}".unicodeScalars.contains($0) }, "\(words)")
                if words[0] == "whoami" { #expect(outcome.output.filter(\.isNewline) == "\n") }
            }
        }
    }
}
