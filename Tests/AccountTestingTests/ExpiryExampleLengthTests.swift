import Foundation
import Testing

struct ExpiryExampleLengthTests {
    @Test func `Tests token expiry in five lines, as the README states`() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        let example = try String(contentsOf: folder.appending(path: "ExpiryExampleTests.swift"), encoding: .utf8)
        let body = example.split(separator: "\n").filter { $0.hasPrefix("    ") }
        #expect(body.count == 5)
        let readme = try String(contentsOf: folder.appending(path: "../../README.md").standardized, encoding: .utf8)
        #expect(readme.contains("[five lines](Sources/AccountTesting/AccountTesting.docc/Testing.md)"))
        let page = folder.appending(path: "../../Sources/AccountTesting/AccountTesting.docc/Testing.md").standardized
        #expect(try String(contentsOf: page, encoding: .utf8).contains("```swift\n\(example)```"))
    }
}
