import AccountSupport
import Foundation
import Testing

/// Texts for developers, such as those of a decoder, do not reach the user.
struct ErrorReasonTests {
    private struct Item: Decodable {
        let id: String
        let tags: [Int]
    }

    private struct Portal: Error, CustomStringConvertible {
        let description = "a captive portal?"
    }

    @Test(arguments: [
        ("<html>canary</html>", "it is not JSON, or has a number that does not fit its field"),
        ("", "it is not JSON, or has a number that does not fit its field"),
        (#"{"id":"canary"}"#, "tags is missing"), (#"{"id":null,"tags":[]}"#, "id is null"),
        (#"{"id":"canary","tags":[1,"canary"]}"#, "tags.[1] has another type"),
        (#"["canary"]"#, "the whole value has another type"),
    ])
    func `Names the place of a flaw without values or types`(json: String, reason: String) {
        let error = #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(Item.self, from: Data(json.utf8))
        }
        #expect(error?.reason == reason)
    }

    @Test func `Says why a file cannot be read, and shows an app's own text`() {
        #expect(CocoaError(.fileReadNoSuchFile).reason == "there is no such file")
        #expect(CocoaError(.fileReadNoPermission).reason == "permission denied")
        #expect(CocoaError(.propertyListReadCorrupt).reason == "it is not in the expected format")
        #expect(CocoaError(.featureUnsupported).reason == nil)
        #expect(NSError(domain: "d", code: 1).reason == nil)
        #expect(Portal().reason == "a captive portal?")
        let failure = #expect(throws: (any Error).self) { try JSONSerialization.jsonObject(with: Data("<html>".utf8)) }
        #expect(failure?.reason.map { !$0.contains("Domain") && !$0.contains("Code") } ?? true)
    }

    @Test(arguments: [
        ("/", "it is a folder"), ("/etc/passwd/x", "a part of its path is not a folder"),
        ("/" + String(repeating: "a", count: 300), "its name is too long"),
        ("/nonexistent-file", "there is no such file"),
    ])
    func `Says why a path cannot be read`(path: String, reason: String) {
        let error = #expect(throws: (any Error).self) { try Data(contentsOf: URL(filePath: path)) }
        #expect(error?.reason == reason)
    }
}
