import Testing

@testable import AccountCrypto

struct SealingContextTests {
    @Test func `Encodes a sealing context as format, app and session with lengths`() {
        let context = SealingContext(appIdentifier: "com.example.gists", sessionName: "work")
        #expect(
            context.bytes
                == [12, 0, 0, 0] + Array("AccountKit/1".utf8) + [17, 0, 0, 0] + Array("com.example.gists".utf8)
                + [4, 0, 0, 0] + Array("work".utf8))
    }

    @Test func `Adds the place and its length to a bound sealing context`() {
        let context = SealingContext(appIdentifier: "com.example.gists", sessionName: "work", place: "notes")
        let unbound = SealingContext(appIdentifier: "com.example.gists", sessionName: "work")
        #expect(context.boundBytes == unbound.bytes + [5, 0, 0, 0] + Array("notes".utf8))
        #expect(context.bytes == unbound.bytes && unbound.boundBytes == nil)
        #expect(context != unbound)
    }

    @Test func `Distinguishes sealing contexts that split the same letters differently`() {
        let contexts = [("ab", "c"), ("a", "bc"), ("abc", ""), ("", "abc")].map {
            SealingContext(appIdentifier: $0, sessionName: $1)
        }
        #expect(Set(contexts).count == contexts.count)
    }
}
