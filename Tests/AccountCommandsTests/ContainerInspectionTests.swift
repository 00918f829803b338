import AccountKit
import Foundation
import Testing

@testable import AccountCommands

/// `doctor` finds each kind of damage to the files and folders of a container, suggests one command, and repairs the
/// damage.
@Suite struct ContainerInspectionTests {
    /// Wrong permissions, or a file that a crash left behind.
    struct Damage: CustomTestStringConvertible, Sendable {
        /// The path in the container.
        let path: String
        let permissions: Int?
        let problem: String

        init(_ permissions: Int, _ path: String, _ problem: String) {
            (self.path, self.permissions, self.problem) = (path, permissions, problem)
        }

        init(leftover path: String) { (self.path, permissions, problem) = (path, nil, "was left behind by a crash") }

        var testDescription: String { (permissions.map { String($0, radix: 8) + " " } ?? "") + path }
    }

    /// Runs a test with a container that has the files of one session.
    private func run(_ test: (_ container: AppContainer, _ root: String) async throws -> Void) async throws {
        let parent = FileManager.default.temporaryDirectory.path + "/inspection-\(UUID().uuidString)"
        let root = parent + "/container"
        defer { try? FileManager.default.removeItem(atPath: parent) }
        try createFolder(parent)
        for folder in [
            "", "/Documents", "/Library", "/Library/Keys", "/Library/Preferences", "/Library/Preferences/Sessions",
            "/Library/Preferences/Sessions/default",
        ] {
            try createFolder(root + folder)
        }
        for file in ["/Documents/Account.plist", "/Library/Keys/Account.key"] { try createFile(root + file) }
        try await test(try AppContainer(root: root, identifier: "com.example.app"), root)
    }

    private func createFolder(_ path: String) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        try setPermissions(0o700, of: path)
    }

    private func createFile(_ path: String) throws {
        try Data().write(to: URL(filePath: path))
        try setPermissions(0o600, of: path)
    }

    private func setPermissions(_ permissions: Int, of path: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
    }

    private func problems(in container: AppContainer) -> [String] {
        ContainerInspection(container: container).findings().map(\.problem)
    }

    static let damages = [
        Damage(0o755, "", "other users can read"), Damage(0o755, "/Library/Keys", "other users can read"),
        Damage(0o775, "/Library/Keys", "other users can write to"),
        Damage(0o644, "/Library/Keys/Account.key", "other users can read or change"),
        Damage(0o644, "/Documents/Account.plist", "other users can read or change"),
        Damage(0o777, "/Library", "other users can write to"),
        Damage(0o777, "/Library/Preferences", "other users can write to"),
        Damage(0o777, "/Library/Preferences/Sessions/default", "other users can write to"),
        Damage(leftover: "/Documents/.Account.plist.0123456789abcdef.tmp"),
        Damage(leftover: "/Documents/Clients/.Client-0.plist.0123456789abcdef.tmp"),
        Damage(leftover: "/Library/Keys/Account.key.0123456789abcdef.tmp"),
        Damage(leftover: "/Library/Keys/Clients/Registrations.key.0123456789abcdef.tmp"),
    ]

    @Test(arguments: damages)
    func `Finds and repairs wrong permissions and leftover files`(damage: Damage) async throws {
        try await run { container, root in
            #expect(problems(in: container) == [])
            if let permissions = damage.permissions {
                try setPermissions(permissions, of: root + damage.path)
            } else {
                let folder = URL(filePath: root + damage.path).deletingLastPathComponent().path
                if !FileManager.default.fileExists(atPath: folder) { try createFolder(folder) }
                try createFile(root + damage.path)
            }
            var findings = ContainerInspection(container: container).findings()
            let index = try #require(
                findings.firstIndex {
                    $0.problem.contains(root + damage.path) && $0.problem.contains(damage.problem)
                }, "\(findings.map(\.problem))")
            #expect(findings[index].advice.count { $0 == "`" } == 2)
            await findings[index].repairIfPossible()
            #expect(findings[index].isFixed, "\(findings[index].advice)")
            #expect(problems(in: container) == [])
        }
    }

    @Test func `Repairs folders and files inside each other in one run`() async throws {
        try await run { container, root in
            try createFile(root + "/Library/Keys/Account.key.0123456789abcdef.tmp")
            try setPermissions(0o644, of: root + "/Library/Keys/Account.key")
            for folder in ["/Library/Keys", "/Library/Preferences/Sessions", "/Library/Preferences", "/Library"] {
                try setPermissions(0o777, of: root + folder)
            }
            let findings = await ContainerInspection(container: container).repair()
            #expect(findings.allSatisfy { $0.isFixed }, "\(findings.filter { !$0.isFixed }.map(\.problem))")
            #expect(findings.count == 6, "\(findings.map(\.problem))")
            #expect(problems(in: container) == [])
        }
    }

    @Test(arguments: ["/Documents", "/Library/Preferences/Sessions", "/Library/Keys"])
    func `Reports a folder behind a link, and does not change it`(place: String) async throws {
        try await run { container, root in
            let elsewhere = URL(filePath: root).deletingLastPathComponent().path + "/elsewhere"
            try FileManager.default.moveItem(atPath: root + place, toPath: elsewhere)
            try FileManager.default.createSymbolicLink(atPath: root + place, withDestinationPath: elsewhere)
            #expect(problems(in: container) == [])
            try setPermissions(0o777, of: elsewhere)
            var findings = ContainerInspection(container: container).findings()
            #expect(findings.contains { $0.problem == "other users can write to \(root + place)" })
            for index in findings.indices { await findings[index].repairIfPossible() }
            #expect(findings.allSatisfy { !$0.isFixed })
            #expect(try FileManager.default.attributesOfItem(atPath: elsewhere)[.posixPermissions] as? Int == 0o777)
        }
    }

    @Test(arguments: [".git", ".stfolder", ".dropbox"])
    func `Finds a key file in a synced or versioned folder`(marker: String) async throws {
        try await run { container, root in
            try createFile(root + "/Library/" + marker)
            let found = problems(in: container)
            #expect(found.count == 1 && found[0].contains("copies elsewhere"), "\(found)")
            // Other programs may copy the archive if they do not copy the key.
            try FileManager.default.moveItem(
                atPath: root + "/Library/" + marker, toPath: root + "/Documents/" + marker)
            #expect(problems(in: container) == [])
        }
    }

    @Test func `Finds a parent folder that others can write to, unless it is sticky`() async throws {
        try await run { container, root in
            let parent = URL(filePath: root).deletingLastPathComponent().path
            try setPermissions(0o777, of: parent)
            let found = problems(in: container)
            #expect(!found.isEmpty)
            #expect(found.allSatisfy { $0.contains("other users can write to \(parent)") }, "\(found)")
            try setPermissions(0o1777, of: parent)
            #expect(problems(in: container) == [])
        }
    }
}
