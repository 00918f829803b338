import AccountImport
import AccountKit
import Foundation
import Testing

/// Reading the file itself. The other suites have its content.
@Suite("Files on the disk")
struct SourceFileTests {
    /// Calls `body` with a folder, and removes the folder afterwards.
    private func withFolder(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder)
    }

    private func refusal(of url: URL) -> AccountError? {
        let error = #expect(throws: AccountError.self) {
            try LegacyArchive.read(contentsOf: url.path, now: Legacy.now)
        }
        #expect(error?.message.hasPrefix("\(url.path) cannot be imported. ") == true)
        return error
    }

    @Test("Imports a file, even by a symbolic link, and leaves the file unchanged")
    func readsFile() throws {
        try withFolder { folder in
            let file = folder.appendingPathComponent("old.plist")
            let link = folder.appendingPathComponent("link.plist")
            let data = try Legacy.archive(Legacy.allFields)
            try data.write(to: file)
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
            for url in [file, link] {
                let imported = try LegacyArchive.read(contentsOf: url.path, now: Legacy.now)
                #expect(imported.account == (try Legacy.read(data).account))
            }
            #expect(try Data(contentsOf: file) == data)
        }
    }

    @Test("Reports a missing file for import with its path and the reason")
    func refusesMissingFile() throws {
        try withFolder { folder in
            let error = refusal(of: folder.appendingPathComponent("none.plist"))
            #expect(error?.code == .inaccessible)
            #expect(
                error?.description.contains("/none.plist") == true
                    && error?.description.contains("No such file or directory")
                        == true
            )
        }
        let error = #expect(throws: AccountError.self) { try LegacyArchive.read(contentsOf: "", now: Legacy.now) }
        #expect(error?.code == .invalidArgument)
    }

    @Test("Refuses to import a folder or a pipe without waiting")
    func refusesOtherKinds() throws {
        try withFolder { folder in
            #expect(refusal(of: folder)?.code == .invalidArgument)
            let pipe = folder.appendingPathComponent("pipe")
            #expect(mkfifo(pipe.path, 0o600) == 0)
            #expect(refusal(of: pipe)?.message.contains("not a regular file") == true)
        }
    }
}
