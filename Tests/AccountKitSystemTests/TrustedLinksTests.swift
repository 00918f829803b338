import AccountTesting
import Foundation
import Testing

@testable import AccountKit

/// Links of other users, which could lead to any file of this user. `FolderTrustTests` tests folders.
struct TrustedLinksTests {
    private static let nobody: uid_t = 65_534
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        for name in ["target", "shared"] { try folder.make(folder.path + "/" + name) }
        try Data("precious".utf8).write(to: URL(filePath: folder.path + "/target/file"))
    }

    private func link(_ name: String, to target: String, owner: uid_t? = nil) throws {
        try #require(symlink(target, folder.path + "/" + name) == 0)
        if let owner { try #require(lchown(folder.path + "/" + name, owner, owner) == 0) }
    }

    @Test(arguments: [
        ("target/file", "target/file"), ("target//./file", "target/file"), ("target/../target/file", nil),
        ("absent/file", "absent/file"), ("link", "target/file"), ("folder/file", "target/file"),
        ("folder/absent", "target/absent"), ("chain", "target/file"), ("dangling", "absent"),
        ("shared/up", "target/file"),
    ])
    func `Resolves the user's own links, even to a missing file`(path: String, resolved: String?) throws {
        try link("link", to: "target/file")
        try link("folder", to: folder.path + "/target")
        try link("chain", to: "folder/./file")
        try link("dangling", to: "absent")
        try link("shared/up", to: "../target/file")
        let found = try TrustedLinks.resolve(folder.path + "/" + path)
        if let resolved, !path.hasPrefix("shared") { #expect(found == folder.path + "/" + resolved) }
        let real = realpath(folder.path + "/" + path, nil)
        defer { free(real) }
        if let real { #expect(try SystemCall.identity(found) == SystemCall.identity(String(cString: real))) }
        #expect(try SystemCall.status(found)?.kind != .symbolicLink)
    }

    @Test func `Reports a loop of links`() throws {
        try link("a", to: "b")
        try link("b", to: "a")
        let error = expectAccountError(.inaccessible) { _ = try TrustedLinks.resolve(folder.path + "/a") }
        #expect((error?.cause as? SystemCallError)?.isLink == true)
    }

    @Test(
        .enabled(if: geteuid() == 0, "only root can give a link away"),
        arguments: [0o700, 0o1777], ["file", "folder/file", "indirect"])
    func `Follows no link of another user, even in a sticky folder`(permissions: Int, place: String) throws {
        try folder.setPermissions(permissions, of: folder.path + "/shared")
        try link("shared/file", to: "../target/file", owner: Self.nobody)
        try link("shared/folder", to: "../target", owner: Self.nobody)
        try link("shared/indirect", to: "file")
        let path = folder.path + "/shared/" + place
        let error = expectAccountError(.insecureContainer) { _ = try TrustedLinks.resolve(path) }
        #expect(error?.message.contains("is a link of nobody") == true, "\(error?.message ?? "")")
        expectAccountError(.insecureContainer) { _ = try TrustedLinks.targetStatus(folder.path + "/shared/folder") }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a folder away"))
    func `Follows no link in a folder of another user`() throws {
        try link("shared/own", to: "../target/file")
        try #require(chown(folder.path + "/shared", Self.nobody, Self.nobody) == 0)
        let error = expectAccountError(.insecureContainer) {
            _ = try TrustedLinks.resolve(folder.path + "/shared/own")
        }
        #expect(error?.message.contains("a link in a folder of nobody") == true, "\(error?.message ?? "")")
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a link away"))
    func `Refuses a container that is a link of another user`() async throws {
        try folder.make(folder.path + "/target/Documents")
        try link("container", to: "target", owner: Self.nobody)
        let container = try AppContainer(root: folder.path + "/container", identifier: "exerciser")
        let store = AccountStore(container: container)
        await expectAccountError(.insecureContainer) {
            try await store.signIn { .fresh(at: ManualClock().now) }
        }
        #expect(try folder.names(in: folder.path + "/target/Documents") == [])
        try #require(lchown(folder.path + "/container", 0, 0) == 0)
        try await store.signIn { .fresh(at: ManualClock().now) }
    }

    // MARK: Permissions

    @Test func `Changes the permissions of no link's target`() throws {
        let target = folder.path + "/target"
        try folder.setPermissions(0o755, of: target)
        try link("link", to: "target")
        #expect(throws: SystemCallError.self) { try SystemCall.changePermissions(folder.path + "/link", 0o700) }
        #expect(try folder.permissions(target) == 0o755)
        // A folder that its owner cannot read.
        try folder.setPermissions(0, of: target)
        try SystemCall.changePermissions(target, 0o700)
        #expect(try folder.permissions(target) == 0o700)
    }

    @Test(arguments: ["link above", "shared folder above", "own folders"])
    func `Changes permissions only below folders that no other user can change`(what: String) throws {
        let root = folder.path + "/target"
        let path = root + "/inner/file"
        try folder.make(folder.path + "/shared/real")
        if what == "link above" {
            try link("target/inner", to: "../shared/real")
        } else {
            try folder.make(root + "/inner")
            if what == "shared folder above" { try folder.setPermissions(0o777, of: root + "/inner") }
        }
        try Data().write(to: URL(filePath: path))
        try folder.setPermissions(0o666, of: path)
        let directory = ArchiveDirectory(path: root + "/inner", root: root)
        if what == "own folders" {
            try directory.changePermissions(of: path, to: 0o600)
        } else {
            #expect(throws: AccountError.self) { try directory.changePermissions(of: path, to: 0o600) }
        }
        #expect(try folder.permissions(path) == (what == "own folders" ? 0o600 : 0o666))
        #expect(try directory.leadsThroughLink() == (what == "link above"))
    }
}
