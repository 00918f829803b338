import AccountImport
import AccountKit
import Foundation
import Testing

@Suite("Files that are something else")
struct OtherFileTests {
    @Test(
        "what is no property list is refused with what to do",
        arguments: [
            "{\"token\": \"\(Legacy.canary)\", \"id\": 8}", "{ token = \"\(Legacy.canary)\"; id = 8; }", Legacy.canary,
            "SQLite format 3\u{0}", "<html><body>Sign in</body></html>", "<?xml version=\"1.0\"?><rss/>", "\u{0}\u{1}",
        ])
    func refusesOtherText(text: String) {
        let error = Legacy.refusal(of: Data(text.utf8))
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.contains("neither a keyed archive nor a property list") == true)
        #expect(error?.description.contains("canary") == false)
    }

    @Test("an empty file, an NSArchiver stream and this program's own archive are named")
    func namesFormats() throws {
        #expect(Legacy.refusal(of: Data())?.message.contains("empty") == true)
        let stream = Legacy.refusal(of: Data("\u{04}\u{0B}streamtyped\u{01}".utf8))
        #expect(stream?.message.contains("NSArchiver") == true)
        let own = try Legacy.propertyList(["format": "AccountKit archive", "version": 1, "sealed": Data(count: 500)])
        #expect(Legacy.refusal(of: own)?.message.contains("already") == true)
    }

    @Test("more than 1 MiB is refused")
    func refusesLargeData() {
        let error = Legacy.refusal(of: Data(count: 2 * 1024 * 1024))
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.contains("too many") == true)
    }
}
