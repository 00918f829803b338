import AccountKit
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import AccountCommands

@Suite struct ShownTextTests {
    @Test func `What controls a terminal, reorders its text or begins a line is not shown`() {
        #expect("a\u{1B}[2Jb".shown == "a\u{FFFD}[2Jb")
        #expect("a\nb\tc\rd".shown == "a\u{FFFD}b\u{FFFD}c\u{FFFD}d")
        #expect("a\u{9B}31mb\u{7F}".shown == "a\u{FFFD}31mb\u{FFFD}")
        #expect("abc\u{202E}fed".shown == "abc\u{FFFD}fed")
        #expect("a\u{2028}b".shown == "a\u{FFFD}b")
    }

    @Test func `JSON escapes what controls a terminal or reorders its text`() {
        #expect("\"a\u{9B}31mb\u{7F}\"".escapingDisplayControls == #""a\u009b31mb\u007f""#)
        #expect("\"\u{202E}\u{2028}\u{E0041}é\"".escapingDisplayControls == #""\u202e\u2028\udb40\udc41é""#)
        #expect(#"{"name":"Zoë アリス"}"#.escapingDisplayControls == #"{"name":"Zoë アリス"}"#)
    }

    @Test(arguments: ["alice", "Zoë", "アリス", "alice@example.com", "", " "])
    func `A usual name is shown as it is`(name: String) {
        #expect(name.shown == name)
    }

    @Test func `A name from the profile is shown like a user name`() {
        let account = Account(
            id: "1", credentials: Credentials(accessToken: Secret("t"), issuedAt: Date(timeIntervalSince1970: 0)),
            profile: ["name": "Alice\u{1B}[2J"])
        #expect(account.shownName == "Alice\u{FFFD}[2J")
    }
}
