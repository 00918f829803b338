import AccountKit
import Foundation
import Testing

/// A temporary folder that is removed together with this value.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.path + "/account-tests-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func container(_ identifier: String = "exerciser") throws -> AppContainer {
        try AppContainer(root: path, identifier: identifier)
    }
}
