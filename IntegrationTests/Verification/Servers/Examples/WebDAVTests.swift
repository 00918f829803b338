@testable import EndToEndSupport
import Foundation
import Subprocess
import Testing

/// Blobs on WsgiDAV, with a separate process for each step.
@Suite(.queued(minutes: 15))
struct WebDAVTests {
    private static let megabyte = 1 << 20

    @Test
    func `webdav uploads, reads offline and does not overwrite other changes`() async throws {
        try await WebDAVUser.run { alice in
            let source = alice.container.path("source")
            try alice.container.write([UInt8](repeating: 7, count: 200_000), to: source)
            let put = try await alice.webdav("put", source, "größe 1.bin", "--if-absent")
            #expect(put.exitCode == 0, "\(put)")
            #expect(try await alice.isSame(source, alice.folder + "/größe 1.bin"))

            let offline = alice.webdav.with("WEBDAV_ORIGIN", "http://127.0.0.1:\(try FreePort.find())")
            let kept = try await offline("get", "größe 1.bin", "--output", alice.container.path("kept"))
            #expect(kept.exitCode == 0, "\(kept)")
            let tag = try #require(put.words.first)
            #expect(kept.words.prefix(2) == ["200000", tag])
            #expect(try await alice.isSame(source, alice.container.path("kept")))
            #expect(try await offline("get", "another").exitCode == 69)

            // WsgiDAV's entity tag contains the length, and the time in whole seconds.
            try alice.container.write([UInt8](repeating: 8, count: 200_001), to: alice.folder + "/größe 1.bin")
            let late = try await alice.webdav("put", source, "größe 1.bin", "--if-match", tag)
            #expect(late.errors.contains("another version"), "\(late)")
            #expect(late.exitCode != 0)
            #expect(try await alice.webdav("put", source, "größe 1.bin", "--if-absent").exitCode != 0)
            #expect(try alice.container.entry(alice.folder + "/größe 1.bin")?.bytes.first == 8)

            let new = try await alice.webdav("get", "größe 1.bin", "--refresh")
            #expect(new.words.first == "200001", "\(new)")
            let again = try await alice.webdav("get", "größe 1.bin", "--refresh")
            #expect(again.words.prefix(2) == new.words.prefix(2) && again.firstProgress == nil, "\(again)")
            let mine = try await alice.webdav("put", source, "größe 1.bin", "--if-match", new.words[1])
            #expect(mine.exitCode == 0, "\(mine)")
            #expect(try await alice.isSame(source, alice.folder + "/größe 1.bin"))
        }
    }

    @Test func `webdav resumes an interrupted download in another process`() async throws {
        try await WebDAVUser.run { alice in
            let size = 8 * Self.megabyte
            try await alice.serve("large", byteCount: size)
            let cut = try await alice.get("large", until: size / 2, .cut)
            #expect(cut.exitCode == 69, "\(cut.errors.suffix(300))")
            #expect(cut.errors.contains("was interrupted after"))
            #expect(try alice.blobFiles().whole.isEmpty)

            // Kill the process that resumes the download, too. Each range starts at the end of the previous range.
            let killed = try await alice.get("large", until: Self.megabyte, .killed)
            #expect(killed.wasEnded(by: .kill))
            #expect(try #require(killed.firstProgress) > size / 2 - 65_536)
            #expect(try alice.blobFiles().whole.isEmpty)

            let whole = try await alice.webdav("get", "large", "--output", alice.container.path("copy"))
            #expect(whole.exitCode == 0, "\(whole.errors.suffix(300))")
            #expect(try #require(whole.firstProgress) > size / 2 - 65_536)
            #expect(try await alice.isSame(alice.folder + "/large", alice.container.path("copy")))
            #expect(try alice.blobFiles().whole.count == 1 && alice.blobFiles().partial.isEmpty)
        }
    }

    @Test func `webdav restarts a download if the file changed at the server`() async throws {
        try await WebDAVUser.run { alice in
            try await alice.serve("large", byteCount: 4 * Self.megabyte)
            _ = try await alice.get("large", until: 2 * Self.megabyte, .killed)
            #expect(try alice.blobFiles().partial.count == 1)
            try await alice.serve("large", byteCount: 4 * Self.megabyte + 1)
            let whole = try await alice.webdav("get", "large", "--output", alice.container.path("copy"))
            #expect(try #require(whole.firstProgress) < Self.megabyte)
            #expect(try await alice.isSame(alice.folder + "/large", alice.container.path("copy")))
            // The new file is shorter than the part that was already downloaded.
            try await alice.serve("other", byteCount: 4 * Self.megabyte)
            _ = try await alice.get("other", until: 2 * Self.megabyte, .killed)
            #expect(try alice.blobFiles().partial.count == 1)
            try await alice.serve("other", byteCount: Self.megabyte)
            let shorter = try await alice.webdav("get", "other", "--output", alice.container.path("copy"))
            #expect(shorter.exitCode == 0, "\(shorter.errors.suffix(300))")
            #expect(try await alice.isSame(alice.folder + "/other", alice.container.path("copy")))
        }
    }

    @Test func `On a full disk, webdav leaves no partial file and later recovers`() async throws {
        try await WebDAVUser.run { alice in
            try await alice.serve("large", byteCount: 16 * Self.megabyte)
            let script = #"""
                mkdir -p "$1"
                mount -t tmpfs -o size=8m,mode=0700 tmpfs "$1"
                "$2" get large 2> "$3/errors" && exit 99 || echo "exit $?"
                tail -n 1 "$3/errors"
                find "$1" -type f -size +100k
                mount -o remount,size=64m "$1"
                "$2" get large --output "$3/copy" 2> "$3/errors"
                cmp "$3/copy" "$3/served/large" && echo same
                """#
            let unshare = Privileges.isRoot ? ["unshare", "--mount"] : ["unshare", "--mount", "--map-root-user"]
            let outcome = try await Command(
                words: unshare + ["sh", "-ec", script, "sh", alice.caches, alice.webdav.path, alice.container.root],
                environment: alice.webdav.environment
            ).run()
            let lines = outcome.output.split(separator: "\n")
            #expect(lines.first == "exit 74", "\(outcome)")
            #expect(lines.dropFirst().first?.contains("No space left on device") == true, "\(outcome)")
            // No large file remains before the next download.
            #expect(lines.dropFirst(2).first?.hasPrefix("\(16 * Self.megabyte) ") == true, "\(outcome)")
            #expect(lines.last == "same", "\(outcome)")
        }
    }

    @Test func `A large file requires little more memory than a small file`() async throws {
        try await WebDAVUser.run { alice in
            // BLOB_TEST_MIB=1024 tests a gibibyte.
            let size = (ProcessInfo.processInfo.environment["BLOB_TEST_MIB"].flatMap { Int($0) } ?? 256) * Self.megabyte
            try await alice.serve("small", byteCount: 1000)
            try await alice.serve("large", byteCount: size)
            func peak(_ arguments: String...) async throws -> Int {
                let outcome = try await alice.webdav.run(arguments)
                guard outcome.exitCode == 0, let peak = outcome.words.last.flatMap({ Int($0) }), peak > 0 else {
                    throw Unexpected(outcome.errors.suffix(500))
                }
                return peak
            }
            // A copy in memory would require the whole size. Allocators retain more memory when the machine is busy.
            let limit = size / 1024 / 4
            let baseline = try await peak("get", "small")
            let down = try await peak("get", "large", "--output", alice.container.path("copy"))
            #expect(down - baseline < limit, "\(down) KiB, a small one \(baseline) KiB")
            #expect(try await alice.isSame(alice.folder + "/large", alice.container.path("copy")))
            let up = try await peak("put", alice.container.path("copy"), "copy")
            #expect(up - baseline < limit, "\(up) KiB, a small one \(baseline) KiB")
            #expect(try await alice.isSame(alice.folder + "/large", alice.folder + "/copy"))
        }
    }

    @Test func `Encrypts blobs and deletes them on sign-out`() async throws {
        try await WebDAVUser.run { alice in
            let marker = "MARKER-5e1b77"
            let source = alice.container.path("source")
            try alice.container.write(Array(String(repeating: marker + "\n", count: 20_000).utf8), to: source)
            #expect(try await alice.webdav("put", source, marker + "-id", "--owner", marker + "-owner").exitCode == 0)
            #expect(try await alice.webdav("get", marker + "-id", "--owner", "other").exitCode == 0)
            _ = try await alice.get(marker + "-id", owner: "third", until: 140_000, .killed)
            let files = try alice.blobFiles()
            #expect(files.whole.count == 2 && files.partial.count == 1)
            let grep = Command(words: ["grep", "--recursive", "--files-with-matches", "MARKER", alice.container.home])
            #expect(try await grep.run().output == "")
            #expect(files.whole.allSatisfy { !$0.contains("MARKER") })
            #expect(try await alice.webdav("account", "logout").exitCode == 0)
            #expect(try alice.blobFiles().whole.isEmpty && alice.blobFiles().partial.isEmpty)
            #expect(try await alice.webdav("get", marker + "-id", "--owner", "other").exitCode == 77)
            try await alice.signIn()
            let again = try await alice.webdav("get", marker + "-id", "--owner", "other")
            #expect(again.exitCode == 0 && again.firstProgress != nil, "\(again.errors.suffix(300))")
        }
    }
}
