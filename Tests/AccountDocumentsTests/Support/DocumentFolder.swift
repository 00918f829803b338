import AccountKit
import Foundation
import AccountCrypto
import Testing

@testable import AccountDocuments

/// A value of the tests, with an optional file.
struct Note: Codable, Sendable, Hashable {
    var text: String
    var file: String?
}

/// A temporary container that is removed together with this value.
final class DocumentFolder: Sendable {
    let root: String
    private let key = GuardedBytes(copying: Sodium.randomBytes(count: 32))

    init() throws {
        root = FileManager.default.temporaryDirectory.path + "/documents-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: root, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: root) }

    var documents: String { root + "/Documents" }
    var document: String { documents + "/Notes.plist" }
    var files: String { documents + "/Notes" }

    func archive(sealed: Bool = false, format: DocumentFormat = .binary) throws -> DocumentArchive<[Note]> {
        try DocumentArchive(
            "Notes", folder: documents, root: root, format: format,
            seal: sealed ? RowSeal(key: key, owner: ["https://example.com", "alice"]) : nil,
            files: { $0.compactMap(\.file) })
    }

    /// Creates a file to add.
    func source(_ bytes: some Sequence<UInt8>, _ name: String = "source") throws -> String {
        try Data(bytes).write(to: URL(filePath: root + "/" + name))
        return root + "/" + name
    }

    func bytes(_ path: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(filePath: path))) }

    func write(_ bytes: some Sequence<UInt8>, to path: String) throws {
        try Data(bytes).write(to: URL(filePath: path))
    }

    /// The names in a folder, including hidden files. Empty if the folder does not exist.
    func names(in folder: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
    }
}

func code(
    isolation: isolated (any Actor)? = #isolation, sourceLocation: SourceLocation = #_sourceLocation,
    of body: () async throws -> Void
) async -> AccountError.Code? {
    do {
        try await body()
        Issue.record("the body threw no AccountError", sourceLocation: sourceLocation)
        return nil
    } catch let error as AccountError {
        return error.code
    } catch {
        Issue.record("\(error)", sourceLocation: sourceLocation)
        return nil
    }
}
