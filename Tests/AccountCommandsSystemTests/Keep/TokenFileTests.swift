import AccountKit
import Foundation
import Testing

@testable import AccountCommands

/// The file that a token is kept in.
@Suite struct TokenFileTests {
    private func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    private func permissions(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func `The file has the token and no newline, and is for its owner only, whatever was there`() throws {
        try KeepFolder.run { folder in
            let file = try TokenFile(path: folder + "/token")
            try file.write(Secret("first"))
            #expect(try text(file.path) == "first" && permissions(file.path) == 0o600)
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
            try file.write(Secret("second"))
            #expect(try text(file.path) == "second" && permissions(file.path) == 0o600)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["token"])
            #expect(try file.remove())
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
            #expect(try !file.remove())
        }
    }

    @Test(arguments: ["two words", "a\nb\n", "\u{1}", "naïve", "#!/bin/sh\nexit 0\n"])
    func `What is no token is neither replaced nor removed`(content: String) throws {
        try KeepFolder.run { folder in
            let path = folder + "/file"
            try Data(content.utf8).write(to: URL(filePath: path))
            let error = #expect(throws: AccountError.self) { try TokenFile(path: path) }
            #expect(error?.code == .invalidArgument && error?.description.contains("move it away") == true)
            // Also if it has come there meanwhile.
            try FileManager.default.removeItem(atPath: path)
            let file = try TokenFile(path: path)
            try Data(content.utf8).write(to: URL(filePath: path))
            #expect(throws: AccountError.self) { try file.write(Secret("token")) }
            #expect(try !file.remove())
            #expect(try text(path) == content)
        }
    }

    @Test
    func `Empty files, old tokens and relative paths are fine; links, folders and places that are not there are not`()
        throws
    {
        try KeepFolder.run { folder in
            for content in ["", "token", "token\n"] {
                let file = try TokenFile(path: folder + "/file")
                try Data(content.utf8).write(to: URL(filePath: file.path))
                try TokenFile(path: file.path).write(Secret("new"))
                #expect(try text(file.path) == "new")
            }
            #expect(try TokenFile(path: "token-that-is-not-there").folder == ".")
            try FileManager.default.createSymbolicLink(
                atPath: folder + "/link", withDestinationPath: folder + "/file")
            for path in [
                folder + "/link", folder, folder + "/", "", "/", folder + "/..", folder + "/none/file",
                folder + "/file/x",
            ] {
                let error = #expect(throws: AccountError.self, "\(path)") { try TokenFile(path: path) }
                #expect(error?.code == .invalidArgument, "\(path): \(String(describing: error))")
            }
            #expect(try text(folder + "/file") == "new")
        }
    }

    @Test func `What a run that was killed has left behind is swept, and what another is writing is not`() throws {
        try KeepFolder.run { folder in
            let file = try TokenFile(path: folder + "/token")
            let (left, used) = (folder + "/.token.keep-left", folder + "/.token.keep-used")
            for path in [left, used, folder + "/.other.keep-1"] {
                try Data("secret".utf8).write(to: URL(filePath: path))
            }
            let locked = try FileDescriptor.openForWriting(used)
            #expect(try locked.tryLock())
            try file.write(Secret("token"))
            #expect(!FileManager.default.fileExists(atPath: left))
            #expect(try text(used) == "secret" && text(folder + "/.other.keep-1") == "secret")
        }
    }

    @Test func `A write that fails leaves the old token and nothing else`() throws {
        try KeepFolder.run { folder in
            let file = try TokenFile(path: folder + "/sub/token".replacing("/sub", with: ""))
            try file.write(Secret("old"))
            try FileManager.default.removeItem(atPath: folder)
            let error = #expect(throws: AccountError.self) { try file.write(Secret("new")) }
            #expect(error?.code == .inaccessible)
            #expect(error?.description.contains("new") == false)
        }
    }

    @Test func `A folder on a disk, or one that others can write to, is warned of`() throws {
        try KeepFolder.run { folder in
            #expect(try TokenFile(path: folder + "/token").warning == nil)
            try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder)
            #expect(try TokenFile(path: folder + "/token").warning?.contains("others can write") == true)
        }
        let home = try TokenFile(path: Bundle.main.bundlePath + "/token")
        #expect(home.warning?.contains("on a disk") == true)
    }

    @Test func `The usual place is made for its owner, and refused if it is another's to write to`() throws {
        try KeepFolder.run { folder in
            let container = try AppContainer(root: folder + "/home", identifier: "account")
            let file = try TokenFile.place(of: SessionName("work"), in: container)
            #expect(file.path == folder + "/home/tmp/work.token")
            #expect(try permissions(folder + "/home/tmp") == 0o700)
            try FileManager.default.setAttributes([.posixPermissions: 0o770], ofItemAtPath: folder + "/home/tmp")
            let error = #expect(throws: AccountError.self) { try TokenFile.place(of: .default, in: container) }
            #expect(error?.code == .insecureContainer)
        }
    }
}

/// A folder in memory, removed after the test.
enum KeepFolder {
    static func run<Result>(_ test: (String) throws -> Result) throws -> Result {
        let path = try make()
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try test(path)
    }

    static func run<Result>(_ test: (String) async throws -> Result) async throws -> Result {
        let path = try make()
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try await test(path)
    }

    private static func make() throws -> String {
        let path = "/dev/shm/keep-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        return path
    }
}
