import Foundation
import Testing

/// Full disks. The file systems are mounted in a namespace that only the test's own processes see.
@Suite struct FullDiskTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func `Loses no data and leaves no files after a failed save on a full disk`() throws {
        let outcome = try Exerciser.shellWithMounts(
            folder,
            #"""
            mount -t tmpfs -o size=64k,mode=0700 tmpfs "$ROOT"
            "$EXERCISER" "$ROOT" sign-in
            before=$(cksum "$ROOT/Documents/Account.plist")
            cat /dev/zero > "$ROOT/ballast" 2>/dev/null || true
            "$EXERCISER" "$ROOT" update 1 || true
            "$EXERCISER" "$ROOT" sign-in || true
            [ "$before" = "$(cksum "$ROOT/Documents/Account.plist")" ] && echo unchanged
            ls -A "$ROOT/Documents"
            rm "$ROOT/ballast"
            "$EXERCISER" "$ROOT" read
            "$EXERCISER" "$ROOT" update 1
            """#)
        let lines = outcome.output.split(separator: "\n")
        #expect(lines.first == "signed in")
        #expect(
            lines.dropFirst().prefix(2).allSatisfy {
                $0.hasPrefix("inaccessible:") && $0.contains("No space left on device")
            },
            "\(lines)")
        #expect(
            lines.dropFirst(3) == ["unchanged", "Account.lock", "Account.plist", "signed in, 0", "updated 1"],
            "\(lines)")
    }

    @Test func `Saves the new tokens if the disk fills up during a refresh`() throws {
        let outcome = try Exerciser.shellWithMounts(
            folder,
            #"""
            mount -t tmpfs -o size=128k,mode=0700 tmpfs "$ROOT"
            "$EXERCISER" "$ROOT" sign-in
            "$EXERCISER" "$ROOT" refresh "$ROOT/ballast"
            "$EXERCISER" "$ROOT" read
            ls -A "$ROOT/Documents"
            (cat /dev/zero > "$ROOT/more") 2>&1
            """#)
        let lines = outcome.output.split(separator: "\n")
        #expect(
            lines.prefix(5) == ["signed in", "refreshed, true", "signed in, 0", "Account.lock", "Account.plist"],
            "\(lines)")
        #expect(lines.contains { $0.contains("No space left") }, "otherwise the test checks nothing")
    }

    @Test func `Reads from a read-only disk, and explains why a save fails`() throws {
        let outcome = try Exerciser.shellWithMounts(
            folder,
            #"""
            "$EXERCISER" "$ROOT" sign-in
            mount --bind "$ROOT" "$ROOT"
            mount -o remount,bind,ro "$ROOT"
            "$EXERCISER" "$ROOT" read
            "$EXERCISER" "$ROOT" update 1 || true
            "$EXERCISER" "$ROOT" sign-in || true
            "$EXERCISER" "$ROOT" read
            """#)
        let lines = outcome.output.split(separator: "\n")
        #expect(lines.count == 5, "\(lines)")
        #expect(lines.prefix(2) == ["signed in", "signed in, 0"])
        #expect(lines.dropFirst(2).prefix(2).allSatisfy { $0.contains("Read-only file system") }, "\(lines)")
        #expect(lines.last == "signed in, 0")
    }
}
