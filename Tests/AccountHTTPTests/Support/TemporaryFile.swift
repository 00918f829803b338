import Foundation

/// A file that exists during a test.
enum TemporaryFile {
    static func run<Result>(
        _ text: String, _ body: (String) async throws -> Result
    ) async throws -> Result {
        let path = FileManager.default.temporaryDirectory.path() + "/account-tests-\(UUID().uuidString)"
        try Data(text.utf8).write(to: URL(filePath: path))
        // A file that cannot be removed does not change the result of a test.
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try await body(path)
    }
}
