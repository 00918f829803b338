import Testing

@testable import Sealing

struct SealingContextTests {
    @Test func `A context is format, app and session, each after its length`() {
        let context = SealingContext(appIdentifier: "com.example.gists", sessionName: "work")
        #expect(
            context.bytes
                == [12, 0, 0, 0] + Array("AccountKit/1".utf8) + [17, 0, 0, 0] + Array("com.example.gists".utf8)
                + [4, 0, 0, 0] + Array("work".utf8))
    }

    @Test func `Another split of the same letters is another context`() {
        let contexts = [("ab", "c"), ("a", "bc"), ("abc", ""), ("", "abc")].map(SealingContext.init)
        #expect(Set(contexts).count == contexts.count)
    }
}
