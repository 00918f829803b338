import AccountKit
import AccountTesting
import Foundation
import Testing

struct ReadmeExampleTests {
    @Test func anExpiredTokenIsNoReasonToSignAnyoneOut() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.testing(signedIn: .expired(at: clock.now), clock: clock)
        let service = ScriptedAuthority(refresh: [.refuse(.noResponse(.timeout)), .accept], clock: clock)
        #expect(await store.checkSession(with: service).account?.username == "alice")  // offline: kept
        #expect(await store.checkSession(with: service) == store.account.map { .verified($0) })  // refreshed
    }

    @Test func `The example in the README is the one above, in at most eight lines`() throws {
        let source = try String(contentsOfFile: #filePath, encoding: .utf8)
        let start = try #require(source.range(of: "    @Test func anExpired")).lowerBound
        let end = try #require(source.range(of: "\n    }\n", range: start..<source.endIndex)).upperBound
        let example = source[start..<end].split(separator: "\n").map { $0.dropFirst(4) }
        #expect(example.count <= 8)
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../README.md")
        let readme = try String(contentsOf: root.standardized, encoding: .utf8)
        #expect(readme.contains("```swift\n\(example.joined(separator: "\n"))\n```"))
    }
}
