#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Runs a test with a separate directory, and removes it afterwards.
func withTemporaryDirectory(_ test: (String) async throws -> Void) async throws {
    let path = FileManager.default.temporaryDirectory.path + "/auth-server-tests-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    do {
        try await test(path)
    } catch {
        try FileManager.default.removeItem(atPath: path)
        throw error
    }
    try FileManager.default.removeItem(atPath: path)
}
