import Foundation
import Testing

struct ReadmeTests {
    @Test func `The example in the README is the one in ReadmeExampleTests, in at most eight lines and its imports`()
        throws
    {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        let example = try String(contentsOf: folder.appending(path: "ReadmeExampleTests.swift"), encoding: .utf8)
        let lines = example.split(separator: "\n")
        #expect(lines.filter { !$0.hasPrefix("import ") }.count <= 8)
        let readme = try String(contentsOf: folder.appending(path: "../../README.md").standardized, encoding: .utf8)
        #expect(readme.contains("```swift\n\(example)```"))
    }
}
