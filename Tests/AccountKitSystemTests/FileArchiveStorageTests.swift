import AccountKit
import AccountTesting
import Foundation
import TestScene
import Testing

@Suite struct FileArchiveStorageTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func `Meets all storage requirements with FileArchiveStorage`() async throws {
        let container = try folder.container()
        try await ArchiveStorageConformance { FileArchiveStorage(container: container) }.run()
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.documents).sorted().first == "Account.lock")
    }

    @Test(arguments: [
        #"cp "$P" "$ROOT/other"; printf x >>"$ROOT/other"; mv "$ROOT/other" "$P""#, #"printf x >>"$P""#,
        // The byte is random, so the command inverts it: a fixed value would sometimes change nothing.
        #"""
        B=$(od -An -tu1 -j 100 -N 1 "$P")
        printf "\\$(printf %o $((255 - B)))" | dd of="$P" conv=notrunc bs=1 seek=100 status=none
        """#,
        #"rm "$P""#,
    ])
    func `Does not overwrite an archive that was changed without the lock`(change: String) async throws {
        for isRemoval in [false, true] {
            try Exerciser.run(folder, "sign-in")
            let storage = FileArchiveStorage(container: try folder.container())
            let transaction = try await storage.beginTransaction(timeout: .zero)
            let revision = try #require(try await transaction.read(.account)?.revision)
            _ = try Exerciser.shell(folder, "P=$ROOT/Documents/Account.plist\n\(change)")
            let changed = try? folder.bytes()
            await expectAccountError(.conflict) {
                if isRemoval {
                    _ = try await transaction.remove(.account, ifRevision: revision)
                } else {
                    _ = try await transaction.replace(.account, with: [1], ifRevision: revision)
                }
            }
            #expect((try? folder.bytes()) == changed)
            await transaction.end()
        }
    }

    @Test(arguments: ["000", "022", "077", "777"])
    func `Creates private files and folders under any umask`(umask: String) throws {
        let outcome = try Exerciser.shell(folder, #"umask \#(umask); exec "$EXERCISER" "$ROOT" sign-in work"#)
        #expect(outcome == .init(status: 0, output: "signed in"))
        let session = folder.documents + "/Sessions/work"
        let keys = folder.path + "/Library/Keys"
        let key = keys + "/Sessions/work/Account.key"
        for file in [session + "/Account.plist", session + "/Account.lock", key] {
            #expect(try folder.permissions(file) == 0o600, "\(file)")
        }
        for made in [
            folder.documents, folder.documents + "/Sessions", session, keys, keys + "/Sessions",
            keys + "/Sessions/work",
        ] {
            #expect(try folder.permissions(made) == 0o700, "\(made)")
        }
    }

    @Test func `Removes only the temporary files of a crash at the next save`() throws {
        try Exerciser.run(folder, "sign-in")
        let leftover = folder.documents + "/.Account.plist.0123456789abcdef.tmp"
        let others = [folder.documents + "/.hidden.tmp", folder.documents + "/Account.plist.unreadable-1"]
        for file in others + [leftover] { try Data("x".utf8).write(to: URL(filePath: file)) }
        try Exerciser.run(folder, "update", "1")
        #expect(!FileManager.default.fileExists(atPath: leftover))
        for file in others { #expect(FileManager.default.fileExists(atPath: file)) }
    }

    // MARK: Other files in place of the archive

    @Test(arguments: [
        ("a symbolic link", #"mv "$P" "$ROOT/real"; ln -s "$ROOT/real" "$P""#, "inaccessible"),
        ("a dangling link", #"rm "$P"; ln -s "$ROOT/nowhere" "$P""#, "inaccessible"),
        ("a folder", #"rm "$P"; mkdir "$P""#, "inaccessible"),
        ("a pipe", #"rm "$P"; mkfifo "$P""#, "inaccessible"),
        ("2 MiB", #"head -c 2097152 /dev/zero > "$P""#, "damaged"),
        ("nothing in it", #": > "$P""#, "damaged"),
        ("a folder that others can write to", #"chmod 0777 "$ROOT/Documents""#, "insecureContainer"),
        ("a root that others can write to", #"chmod 0770 "$ROOT""#, "insecureContainer"),
        ("a key of 31 bytes", #"head -c 31 /dev/zero > "$ROOT/Library/Keys/Account.key""#, "damaged"),
        ("a key that others can read", #"chmod 0644 "$ROOT/Library/Keys/Account.key""#, "insecureContainer"),
        ("no key", #"rm "$ROOT/Library/Keys/Account.key""#, "noKey"),
        ("another key", #"head -c 32 /dev/zero > "$ROOT/Library/Keys/Account.key""#, "wrongKeyOrDamaged"),
    ])
    func `Reports an unreadable archive without signing out or changing it`(
        what: String, script: String, code: String
    ) throws {
        try Exerciser.run(folder, "sign-in")
        _ = try Exerciser.shell(folder, "P=$ROOT/Documents/Account.plist\n\(script)")
        let listing =
            #"cd "$ROOT"; find . ! -type p -exec stat -c "%n %a %s %F" {} + ; find . -type f -exec cksum {} +"#
        let before = try Exerciser.shell(folder, listing)
        #expect(try Exerciser.run(folder, "read").output == "unreadable \(code)", "\(what)")
        let update = try Exerciser.run(folder, "update", "1")
        #expect(update.status == 1 && update.output.hasPrefix(code), "\(what): \(update.output)")
        #expect(try Exerciser.shell(folder, listing) == before, "\(what)")

        // Only a sign-out moves a damaged archive aside, and it keeps the bytes.
        let isReached = ["damaged", "noKey", "wrongKeyOrDamaged"].contains(code)
        let unread = isReached ? try folder.bytes() : Data()
        let signOut = try Exerciser.run(folder, "sign-out")
        if isReached {
            #expect(signOut.output == "signed out")
            #expect(try Exerciser.run(folder, "read").output == "signed out")
            let names = try folder.names().filter { $0.hasPrefix("Account.plist") }
            try #require(names.count == 1 && names[0].hasPrefix("Account.plist.unreadable-"), "\(names)")
            let moved = folder.documents + "/" + names[0]
            #expect(try folder.bytes(moved) == unread)
            #expect(try folder.permissions(moved) == 0o600)
        } else {
            #expect(signOut.status == 1)
            #expect(try Exerciser.shell(folder, listing) == before, "\(what)")
        }
    }

    @Test func `Refuses a container that belongs to another user, even as root`() throws {
        try Exerciser.run(folder, "sign-in")
        // A user who is not root cannot give a folder away, so use a folder of root.
        let outcome =
            geteuid() == 0
            ? try Exerciser.shell(folder, #"chown -R 65534 "$ROOT"; "$EXERCISER" "$ROOT" read; chown -R 0 "$ROOT""#)
            : try Exerciser.run(Exerciser.path, ["/usr", "read"])
        #expect(outcome.output == "unreadable insecureContainer")
        #expect(try Exerciser.run(folder, "read").output == "signed in, 0")
    }

    @Test(arguments: [
        #": > "$P""#, #"head -c 700 /dev/zero > "$P""#, #"head -c 32 /dev/zero > "$ROOT/Library/Keys/Account.key""#,
    ])
    func `Quarantines an archive that cannot be opened, unchanged, at a sign-in`(script: String) throws {
        try Exerciser.run(folder, "sign-in")
        _ = try Exerciser.shell(folder, "P=$ROOT/Documents/Account.plist\n\(script)")
        let before = try folder.bytes()
        #expect(try Exerciser.run(folder, "sign-in").output == "signed in")
        let aside = try FileManager.default.contentsOfDirectory(atPath: folder.documents)
            .filter { $0.hasPrefix("Account.plist.unreadable-") }
        let file = try folder.documents + "/" + #require(aside.first)
        #expect(try folder.bytes(file) == before)
        #expect(try folder.permissions(file) == 0o600)
        #expect(try Exerciser.run(folder, "read").output == "signed in, 0")
    }

    // MARK: The archive's content

    @Test func `Writes the archive as a property list that reveals no content`() throws {
        try Exerciser.run(folder, "sign-in")
        let list = try PropertyListSerialization.propertyList(from: folder.bytes(), format: nil)
        let archive = try #require(list as? [String: Any])
        #expect(archive.keys.sorted() == ["format", "sealed", "version"])
        #expect(archive["format"] as? String == "AccountKit archive")
        #expect(archive["version"] as? Int == 1)
        #expect((archive["sealed"] as? Data)?.prefix(4) == Data("ACCT".utf8))
        for file in try folder.files() {
            let text = try folder.bytes(file)
            for word in ["canary-access", "canary-refresh", "alice", "example.com"] {
                #expect(text.range(of: Data(word.utf8)) == nil, "\(word) in \(file)")
            }
        }
    }

    @Test func `Does not open an archive of another app or session`() async throws {
        try Exerciser.run(folder, "sign-in")
        let other = try folder.container("another")
        guard case .unreadable(let error) = await AccountStore(container: other).load() else {
            Issue.record("another app's archive opened")
            return
        }
        #expect(error.code == .wrongKeyOrDamaged)
        #expect(error.message.hasPrefix("\(folder.archive) "), "\(error)")

        let work = folder.documents + "/Sessions/work"
        try FileManager.default.createDirectory(
            atPath: work, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try FileManager.default.copyItem(atPath: folder.archive, toPath: work + "/Account.plist")
        let session = try SessionName("work")
        let keyFile = folder.path + "/Library/Keys/Account.key"
        let store = AccountStore(container: try folder.container(), session: session, keySources: [.file(keyFile)])
        guard case .unreadable(let error) = await store.load() else {
            Issue.record("another session's archive opened")
            return
        }
        #expect(error.code == .wrongKeyOrDamaged)
    }
}
