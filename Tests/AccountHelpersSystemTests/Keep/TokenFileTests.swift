import AccountKit
import Foundation
import Testing

@testable import AccountCommands
@testable import AccountHelpers

@Suite struct TokenFileTests {
    private func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    private func permissions(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func `Writes the token without a newline to a private file`() throws {
        try KeepFolder.run { folder in
            let file = try TokenFile(path: folder + "/token")
            try file.write(Secret("first"))
            #expect(try text(file.path) == "first" && permissions(file.path) == 0o600)
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
            try file.write(Secret("second"))
            #expect(try text(file.path) == "second" && permissions(file.path) == 0o600)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == [".token.keep", "token"])
            #expect(try permissions(folder + "/.token.keep") == 0o600)
            #expect(try !text(folder + "/.token.keep").contains("second"))
            #expect(try file.remove())
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
            #expect(try !file.remove())
        }
    }

    @Test(arguments: [
        "two words", "a\nb\n", "\u{1}", "naïve", "#!/bin/sh\nexit 0\n", "hunter2\n", "q83vEjRWeJCrze8SNFZ4kA==",
        "e30.e30.c2ln",
    ])
    func `Neither replaces nor removes a token file of another program`(content: String) throws {
        try KeepFolder.run { folder in
            let path = folder + "/file"
            try Data(content.utf8).write(to: URL(filePath: path))
            let error = #expect(throws: AccountError.self) { try TokenFile(path: path) }
            #expect(error?.code == .invalidArgument && error?.description.contains("move the file away") == true)
            // The result is the same if the file appeared later.
            try FileManager.default.removeItem(atPath: path)
            let file = try TokenFile(path: path)
            for isWritten in [false, true] {
                if isWritten { try file.write(Secret("token")) }
                try Data(content.utf8).write(to: URL(filePath: path))
                #expect(throws: AccountError.self) { try file.write(Secret("token")) }
                #expect(try !file.remove())
                #expect(try text(path) == content)
                try FileManager.default.removeItem(atPath: path)
            }
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a link away"))
    func `Writes no token to a folder behind another user's link`() throws {
        try KeepFolder.run { folder in
            try FileManager.default.createDirectory(atPath: folder + "/target", withIntermediateDirectories: false)
            try #require(symlink("target", folder + "/link") == 0)
            _ = try TokenFile(path: folder + "/link/token")
            try #require(lchown(folder + "/link", 65_534, 65_534) == 0)
            let error = #expect(throws: AccountError.self) { try TokenFile(path: folder + "/link/token") }
            #expect(error?.code == .insecureContainer)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder + "/target") == [])
        }
    }

    @Test func `Refuses to overwrite a token file that contains an unknown token`() throws {
        try KeepFolder.run { folder in
            let path = folder + "/file"
            try TokenFile(path: path).write(Secret("first"))
            try TokenFile(path: path).write(Secret("second"))
            // A process that ends between the two writes leaves the old or the new token.
            for token in ["first", "second", "second\n", ""] {
                try Data(token.utf8).write(to: URL(filePath: path))
                _ = try TokenFile(path: path)
            }
            try Data("third\n".utf8).write(to: URL(filePath: path))
            #expect(throws: AccountError.self) { try TokenFile(path: path) }
            try TokenFile(path: path, knownTokens: [Secret("third")]).write(Secret("fourth"))
            #expect(try text(path) == "fourth")
        }
    }

    @Test func `Does not replace an existing marker file of a token file`() throws {
        try KeepFolder.run { folder in
            try Data("mine\n".utf8).write(to: URL(filePath: folder + "/.token.keep"))
            #expect(throws: AccountError.self) { try TokenFile(path: folder + "/token") }
            #expect(try text(folder + "/.token.keep") == "mine\n")
        }
    }

    @Test
    func `Writes tokens over empty files and old tokens, but not over links`()
        throws
    {
        try KeepFolder.run { folder in
            for content in ["", "new", "new\n"] {
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
            // The result is the same if the link appeared later.
            let later = try TokenFile(path: folder + "/later")
            for isWritten in [false, true] {
                if isWritten { try later.write(Secret("new")) }
                try? FileManager.default.removeItem(atPath: later.path)
                try FileManager.default.createSymbolicLink(
                    atPath: later.path, withDestinationPath: folder + "/file")
                #expect(throws: AccountError.self) { try later.write(Secret("other")) }
                #expect(try !later.remove())
                #expect(try text(folder + "/file") == "new")
                #expect(
                    try FileManager.default.destinationOfSymbolicLink(atPath: later.path) == folder + "/file")
                try FileManager.default.removeItem(atPath: later.path)
            }
        }
    }

    @Test func `Removes leftovers of killed processes, but no token files in use`() throws {
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

    @Test func `Leaves the old token and no other files after a failed write`() throws {
        try KeepFolder.run { folder in
            let file = try TokenFile(path: folder + "/sub/token".replacing("/sub", with: ""))
            try file.write(Secret("old"))
            try FileManager.default.removeItem(atPath: folder)
            let error = #expect(throws: AccountError.self) { try file.write(Secret("new")) }
            #expect(error?.code == .inaccessible)
            #expect(error?.description.contains("new") == false)
        }
    }

    @Test func `Warns about a token folder on a disk or with write access for others`() throws {
        try KeepFolder.run { folder in
            #expect(try TokenFile(path: folder + "/token").warnings == [])
            let inner = folder + "/inner"
            try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: false)
            for path in [folder, inner] {
                try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: path)
            }
            let warnings = try TokenFile(path: inner + "/token").warnings
            #expect(warnings.count == 2)
            #expect(warnings.first?.contains("other users can write to \(inner),") == true)
            #expect(warnings.last?.contains("other users can write to \(folder),") == true)
        }
        let home = try TokenFile(path: Bundle.main.bundlePath + "/token")
        #expect(home.warnings.first?.contains("on a disk") == true)
    }

    @Test func `Creates a private default token folder, and refuses a shared folder`() throws {
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

/// A folder in memory that is removed after the test.
enum KeepFolder {
    static func run(_ test: (String) throws -> Void) throws {
        let path = "/dev/shm/keep-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(atPath: path) }
        try test(path)
    }
}
