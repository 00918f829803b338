import AccountKit
import AccountTesting
import Foundation
import Testing

/// Folders that others can write to, that belong to others, or that their owner cannot access.
@Suite struct FolderTrustTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// The names, kinds and checksums of everything in the folder.
    private func listing() throws -> String {
        try Exerciser.shell(
            folder, #"cd "$ROOT"; find . -exec stat -c "%n %s %F" {} + ; find . -type f -exec cksum {} +"#
        ).output
    }

    @Test(
        arguments: ["", "/Documents", "/Documents/Sessions", "/Documents/Sessions/work"], [0o777, 0o770, 0o720, 0o702])
    func `Refuses a container path that others can write to and names the fix`(
        place: String, permissions: Int
    ) async throws {
        try Exerciser.run(folder, "sign-in", "work")
        let store = AccountStore(container: try folder.container(), session: try SessionName("work"))
        let path = folder.path + place
        try folder.setPermissions(permissions, of: path)
        let before = try listing()

        guard case .unreadable(let error) = await store.load() else {
            Issue.record("the archive was read")
            return
        }
        #expect(error.code == .insecureContainer)
        #expect(error.description.contains("chmod go-w \(path)`"))
        await expectAccountError(error.code) { try await store.update { _ in } }
        await expectAccountError(error.code) { try await store.signOut() }
        await expectAccountError(error.code) { try await store.signIn { .fresh(at: ManualClock().now) } }
        #expect(try listing() == before)

        try folder.setPermissions(0o755, of: path)
        #expect(await store.load().account?.username == "alice", "a folder that others can only read is accepted")
    }

    @Test(arguments: ["000", "002", "022", "077", "277", "777"])
    func `Continues the work of an earlier process under any umask`(umask: String) throws {
        let outcome = try Exerciser.shellUnderPermissions(
            folder,
            """
            umask \(umask)
            for command in sign-in 'update 1' refresh sign-out sign-in 'update 1' read; do
                "$EXERCISER" "$ROOT" $command
            done
            """)
        #expect(outcome.status == 0, "\(outcome.output)")
        #expect(outcome.output.hasSuffix("signed in, 1"), "\(outcome.output)")
        for file in try folder.files() { #expect(try folder.permissions(file) == 0o600, "\(file)") }
        for made in [folder.documents, folder.path + "/Library/Keys"] {
            #expect(try folder.permissions(made) == 0o700, "\(made)")
        }
    }

    @Test(arguments: ["Documents/Account.plist", "Documents", ""])
    func `Does not treat missing permissions as signed out`(place: String) async throws {
        try Exerciser.run(folder, "sign-in")
        let path = folder.path + "/" + place
        try folder.setPermissions(0, of: path)
        let outcome = try Exerciser.shellUnderPermissions(
            folder,
            #"""
            ! cat "$ROOT/Documents/Account.plist"
            "$EXERCISER" "$ROOT" read
            ! "$EXERCISER" "$ROOT" update 1
            ! "$EXERCISER" "$ROOT" sign-out
            ! "$EXERCISER" "$ROOT" sign-in
            """#)
        let lines = outcome.output.split(separator: "\n")
        #expect(outcome.status == 0 && lines.count == 5, "\(lines)")
        #expect(lines.first?.hasSuffix("Permission denied") == true, "otherwise the test checks nothing")
        #expect(lines.dropFirst().first == "unreadable inaccessible", "\(lines)")
        for line in lines.dropFirst(2) {
            #expect(line.hasPrefix("inaccessible:") && line.contains("Permission denied"), "\(line)")
        }
        #expect(try folder.permissions(path) == 0)
        try folder.setPermissions(0o700, of: path)
        #expect(try Exerciser.run(folder, "read").output == "signed in, 0")
    }

    @Test func `Keeps the account in a folder that cannot be written to`() throws {
        try Exerciser.run(folder, "sign-in")
        let before = try folder.bytes()
        try folder.setPermissions(0o500, of: folder.documents)
        let outcome = try Exerciser.shellUnderPermissions(
            folder,
            #"""
            "$EXERCISER" "$ROOT" read
            ! "$EXERCISER" "$ROOT" update 1
            ! "$EXERCISER" "$ROOT" refresh
            ! "$EXERCISER" "$ROOT" sign-out
            """#)
        try folder.setPermissions(0o700, of: folder.documents)
        let lines = outcome.output.split(separator: "\n")
        #expect(outcome.status == 0, "\(lines)")
        #expect(
            lines.map { $0.prefix { $0 != ":" } } == [
                "signed in, 0", "inaccessible", "inaccessible", "inaccessible",
            ])
        #expect(try folder.bytes() == before)
        #expect(try folder.names() == ["Account.lock", "Account.plist"])
    }

    @Test func `Accepts a documents folder that is a link to another disk`() async throws {
        try folder.make(folder.path + "/elsewhere")
        #expect(symlink(folder.path + "/elsewhere", folder.documents) == 0)
        #expect(try Exerciser.run(folder, "sign-in").output == "signed in")
        #expect(try Exerciser.run(folder, "update", "1").output == "updated 1")
        #expect(try folder.names(in: folder.path + "/elsewhere") == ["Account.lock", "Account.plist"])
        try folder.setPermissions(0o777, of: folder.path + "/elsewhere")
        #expect(try Exerciser.run(folder, "read").output == "unreadable insecureContainer")
    }

    // MARK: The files beside the archive

    @Test func `Does not follow a lock file that is a link`() throws {
        try Exerciser.run(folder, "sign-in")
        let target = folder.path + "/target"
        try Data("precious".utf8).write(to: URL(filePath: target))
        try folder.setPermissions(0o644, of: target)
        try FileManager.default.removeItem(atPath: folder.documents + "/Account.lock")
        #expect(symlink(target, folder.documents + "/Account.lock") == 0)
        let outcome = try Exerciser.run(folder, "update", "1")
        #expect(outcome.output.hasPrefix("inaccessible:") && outcome.output.contains("ELOOP"), "\(outcome.output)")
        #expect(try folder.bytes(target) == Data("precious".utf8))
        #expect(try folder.permissions(target) == 0o644)
    }

    @Test func `Locks the same file in every process and never removes the file`() throws {
        let lock = folder.documents + "/Account.lock"
        let inode = { try FileManager.default.attributesOfItem(atPath: lock)[.systemFileNumber] as? UInt64 }
        try Exerciser.run(folder, "sign-in")
        let before = try #require(try inode())
        for command in ["update", "refresh", "sign-out", "sign-in"] { try Exerciser.run(folder, command) }
        #expect(try inode() == before)
    }

    @Test func `Removes only files whose name matches a temporary file exactly`() throws {
        try Exerciser.run(folder, "sign-in")
        let stale = [
            ".Account.plist.0123456789abcdef.tmp", ".Refresh.plist.ffffffffffffffff.tmp",
            ".Revocation-1.plist.0000000000000000.tmp",
        ]
        let others = [
            ".Account.plist.0123456789abcde.tmp", ".Account.plist.0123456789abcdeg.tmp", ".settings.plist.backup.tmp",
            "Account.plist.0123456789abcdef.tmp", ".Account.plist.0123456789abcdef.tmp~", ".0123456789abcdef.tmp",
        ]
        for name in stale + others { try Data("x".utf8).write(to: URL(filePath: folder.documents + "/" + name)) }
        // A leftover that cannot be removed does not prevent a save.
        let undeletable = ".SignOut.plist.0123456789abcdef.tmp"
        try folder.make(folder.documents + "/" + undeletable)
        #expect(try Exerciser.run(folder, "update", "1").output == "updated 1")
        #expect(try folder.names() == (others + [undeletable, "Account.lock", "Account.plist"]).sorted())
    }

    @Test(arguments: ["folder", "2 MiB", "link"])
    func `Loads and signs in despite an unreadable sign-out record on disk`(what: String) throws {
        try Exerciser.run(folder, "sign-in")
        try Exerciser.run(folder, "sign-out")
        let record = folder.documents + "/SignOut.plist"
        try FileManager.default.removeItem(atPath: record)
        switch what {
        case "folder": try folder.make(record)
        case "link": #expect(symlink("/nowhere", record) == 0)
        default: try Data(count: 2 * 1024 * 1024).write(to: URL(filePath: record))
        }
        for (command, output) in [
            ("read", "signed out"), ("sign-in", "signed in"), ("read", "signed in, 0"), ("sign-out", "signed out"),
            ("read", "signed out"),
        ] {
            #expect(try Exerciser.run(folder, command).output == output)
        }
    }

    @Test(arguments: ["folder", "2 MiB", "link"])
    func `Refreshes despite an unreadable refresh record`(what: String) throws {
        try Exerciser.run(folder, "sign-in")
        let record = folder.documents + "/Refresh.plist"
        let target = folder.path + "/target"
        switch what {
        case "folder": try folder.make(record)
        case "link":
            try Data("precious".utf8).write(to: URL(filePath: target))
            try folder.setPermissions(0o644, of: target)
            #expect(symlink(target, record) == 0)
        default: try Data(count: 2 * 1024 * 1024).write(to: URL(filePath: record))
        }
        #expect(try Exerciser.run(folder, "refresh").output == "refreshed, true")
        #expect(try folder.names().contains("Refresh.plist.unreadable"))
        #expect(try !folder.names().contains("Refresh.plist"))
        if what == "link" { #expect(try folder.permissions(target) == 0o644, "no link is followed") }
    }

    // MARK: Folders of other users

    private static let nobody = 65_534

    private func give(_ path: String) throws {
        try FileManager.default.setAttributes([.ownerAccountID: Self.nobody], ofItemAtPath: path)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a folder away"))
    func `Creates no folder below a folder that belongs to another user`() async throws {
        let home = folder.path + "/home"
        try folder.make(home)
        try give(home)
        let container = try AppContainer(root: home + "/deep/container", identifier: "exerciser")
        let store = AccountStore(container: container)
        let error = await expectAccountError(.insecureContainer) {
            try await store.signIn { .fresh(at: ManualClock().now) }
        }
        #expect(error?.description.contains("\(home) belongs to nobody") == true, "\(error?.message ?? "")")
        await expectAccountError(.insecureContainer) {
            _ = try await KeyFile(path: home + "/deep/Account.key").makeKey()
        }
        // A watch creates its folder only if that is allowed.
        _ = FileArchiveStorage(container: container).changes(of: .account)
        #expect(try folder.names(in: home).isEmpty)
        // Every user may create folders in a folder like /tmp.
        try folder.setPermissions(0o1777, of: home)
        try await store.signIn { .fresh(at: ManualClock().now) }
        #expect(await store.load().account != nil)
    }

    @Test(arguments: ["", "/Library", "/Library/Keys"])
    func `Reads no key file below a folder that others can write to`(place: String) async throws {
        try Exerciser.run(folder, "sign-in")
        let file = KeyFile(container: try folder.container())
        #expect(try await file.key() != nil)
        try folder.setPermissions(0o777, of: folder.path + place)
        let error = await expectAccountError(.insecureContainer) { _ = try await file.key() }
        #expect(error?.description.contains("chmod go-w \(folder.path)\(place)`") == true)
    }

    @Test func `Lists no sessions in a folder that others can write to`() async throws {
        try Exerciser.run(folder, "sign-in", "work")
        try folder.setPermissions(0o777, of: folder.documents + "/Sessions")
        let container = try folder.container()
        expectAccountError(.insecureContainer) { _ = try container.sessions() }
    }

    @Test func `Creates no files or folders when reading`() async throws {
        let container = try AppContainer(root: folder.path + "/none", identifier: "exerciser")
        let store = AccountStore(container: container)
        #expect(await store.load() == .signedOut(.neverSignedIn))
        #expect(try await store.unfinishedRefresh() == nil)
        #expect(try container.sessions().isEmpty)
        #expect(try folder.names(in: folder.path).isEmpty)
    }

    @Test func `Quarantines a second unreadable archive beside the first archive`() async throws {
        let clock = ManualClock()
        let store = AccountStore(container: try folder.container(), clock: clock)
        for count in 1...3 {
            try await store.signIn { .fresh(at: clock.now) }
            try Data("garbage \(count)".utf8).write(to: URL(filePath: folder.archive))
        }
        try await store.signIn { .fresh(at: clock.now) }
        let aside = ["", "-2", "-3"].map { folder.documents + "/Account.plist.unreadable-20300101T120000Z" + $0 }
        #expect(
            try aside.map { String(decoding: try folder.bytes($0), as: UTF8.self) } == [
                "garbage 1", "garbage 2", "garbage 3",
            ])
    }

    // MARK: The lock

    @Test func `Names the lock file after a lock timeout, and ends a cancelled wait`() async throws {
        try Exerciser.run(folder, "sign-in")
        let container = try folder.container()
        let transaction = try await FileArchiveStorage(container: container).beginTransaction(timeout: .zero)
        let impatient = AccountStore(container: container, lockTimeout: .milliseconds(5))
        let error = await expectAccountError(.busy) { try await impatient.update { _ in } }
        #expect(error?.description.contains("fuser \(folder.documents)/Account.lock") == true)

        let patient = AccountStore(container: container, lockTimeout: .seconds(3600))
        for change in [
            { _ = try await patient.update { _ in } }, { _ = try await patient.signOut() },
            { _ = try await patient.signIn { .fresh(at: ManualClock().now) } },
        ] as [@Sendable () async throws -> Void] {
            let waiting = Task { try await change() }
            waiting.cancel()
            await expectAccountError(.cancelled) { try await waiting.value }
        }
        #expect(await patient.load().account?.username == "alice", "a read needs no lock")
        await transaction.end()
        try await patient.update { _ in }
    }
}
