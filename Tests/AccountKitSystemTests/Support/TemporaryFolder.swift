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

    var archive: String { path + "/Documents/Account.plist" }
    var documents: String { path + "/Documents" }

    func container(_ identifier: String = "exerciser") throws -> AppContainer {
        try AppContainer(root: path, identifier: identifier)
    }

    func bytes(_ file: String? = nil) throws -> Data { try Data(contentsOf: URL(filePath: file ?? archive)) }

    /// The permissions of a file or folder, such as 0o600.
    func permissions(_ file: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: file)
        return try #require(attributes[.posixPermissions] as? Int)
    }

    func setPermissions(_ permissions: Int, of file: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: file)
    }

    /// The names in a folder, including hidden files.
    func names(in folder: String? = nil) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder ?? documents).sorted()
    }

    /// Creates a private folder and its parents.
    func make(_ folder: String) throws {
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    /// All files below the folder.
    func files() throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: path).map { path + "/" + $0 }.filter { file in
            var isFolder: ObjCBool = false
            return FileManager.default.fileExists(atPath: file, isDirectory: &isFolder) && !isFolder.boolValue
        }
    }
}
