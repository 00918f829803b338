import Testing

@testable import AccountCrypto

struct SealingContextTests {
    @Test func `A context contains format, app and session with their lengths`() {
        let context = SealingContext(appIdentifier: "com.example.gists", sessionName: "work")
        #expect(
            context.bytes
                == [12, 0, 0, 0] + Array("AccountKit/1".utf8) + [17, 0, 0, 0] + Array("com.example.gists".utf8)
                + [4, 0, 0, 0] + Array("work".utf8))
    }

    @Test func `A bound context adds the place with its length`() {
        let context = SealingContext(appIdentifier: "com.example.gists", sessionName: "work", place: "notes")
        let unbound = SealingContext(appIdentifier: "com.example.gists", sessionName: "work")
        #expect(context.boundBytes == unbound.bytes + [5, 0, 0, 0] + Array("notes".utf8))
        #expect(context.bytes == unbound.bytes && unbound.boundBytes == nil)
        #expect(context != unbound && context.isSameSession(as: unbound))
    }

    @Test func `Splitting the same letters differently gives another context`() {
        let contexts = [("ab", "c"), ("a", "bc"), ("abc", ""), ("", "abc")].map {
            SealingContext(appIdentifier: $0, sessionName: $1)
        }
        #expect(Set(contexts).count == contexts.count)
    }
}
