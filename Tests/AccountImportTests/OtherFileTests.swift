import AccountImport
import AccountKit
import Foundation
import Testing

@Suite("Other files")
struct OtherFileTests {
    @Test(
        "Refuses a file that is not a property list and names the fix",
        arguments: [
            "{\"token\": \"\(Legacy.canary)\", \"id\": 8}", "{ token = \"\(Legacy.canary)\"; id = 8; }", Legacy.canary,
            "SQLite format 3\u{0}", "<html><body>Sign in</body></html>", "<?xml version=\"1.0\"?><rss/>", "\u{0}\u{1}",
        ])
    func refusesOtherText(text: String) {
        let error = Legacy.refusal(of: Data(text.utf8))
        #expect(error?.code == .invalidArgument)
        #expect(error?.description.contains("neither a keyed archive nor a property list") == true)
        #expect(error?.description.contains("canary") == false)
    }

    @Test("Names an empty file, an NSArchiver stream and AccountKit's archive")
    func namesFormats() throws {
        #expect(Legacy.refusal(of: Data())?.message.contains("empty") == true)
        let stream = Legacy.refusal(of: Data("\u{04}\u{0B}streamtyped\u{01}".utf8))
        #expect(stream?.message.contains("NSArchiver") == true)
        let own = try Legacy.propertyList(["format": "AccountKit archive", "version": 1, "sealed": Data(count: 500)])
        #expect(Legacy.refusal(of: own)?.message.contains("already") == true)
    }

    @Test("Refuses an old file of more than 1 MiB")
    func refusesLargeData() {
        let error = Legacy.refusal(of: Data(count: 2 * 1024 * 1024))
        #expect(error?.code == .invalidArgument)
        #expect(error?.description.contains("too many") == true)
    }
}
