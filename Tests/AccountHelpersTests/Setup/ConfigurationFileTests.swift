import AccountKit
import Foundation
import Testing

@testable import AccountHelpers

/// The links that a configuration file of another program may be behind. `TrustedLinksTests` has the table of links.
struct ConfigurationFileTests {
    private func run(_ test: (_ folder: String) throws -> Void) throws {
        let folder = NSTemporaryDirectory() + "/configuration-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder + "/shared", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try test(folder)
    }

    @Test func `Replaces a file behind the user's own link, and keeps the link`() throws {
        try run { folder in
            try Data("old".utf8).write(to: URL(filePath: folder + "/target"))
            try #require(symlink("../target", folder + "/shared/link") == 0)
            let file = ConfigurationFile(path: folder + "/shared/link")
            let old = try file.read()
            #expect(old == Array("old".utf8))
            try file.replace(old, with: Array("new".utf8))
            #expect(try String(contentsOfFile: folder + "/target", encoding: .utf8) == "new")
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder + "/shared/link") == "../target")
        }
    }

    @Test(
        .enabled(if: geteuid() == 0, "only root can give a link away"), arguments: ["file", "folder/target", "missing"])
    func `Neither reads nor writes behind another user's link`(place: String) throws {
        try run { folder in
            try Data("{}".utf8).write(to: URL(filePath: folder + "/target"))
            try #require(chmod(folder + "/shared", 0o1777) == 0)
            for (name, target) in [("file", "../target"), ("folder", ".."), ("missing", "../new")] {
                try #require(symlink(target, folder + "/shared/" + name) == 0)
                try #require(lchown(folder + "/shared/" + name, 65_534, 65_534) == 0)
            }
            let file = ConfigurationFile(path: folder + "/shared/" + place)
            for attempt in [{ _ = try file.read() }, { try file.replace(nil, with: [1]) }] as [() throws -> Void] {
                let error = #expect(throws: AccountError.self) { try attempt() }
                #expect(error?.code == .insecureContainer)
            }
            #expect(try String(contentsOfFile: folder + "/target", encoding: .utf8) == "{}")
            #expect(try Set(FileManager.default.contentsOfDirectory(atPath: folder)) == ["target", "shared"])
        }
    }
}
