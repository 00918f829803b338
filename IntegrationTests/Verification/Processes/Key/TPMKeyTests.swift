@testable import EndToEndSupport
import Foundation
import Testing

/// Keys that a TPM seals, with TPMs that `swtpm` simulates.
@Suite(.queued)
struct TPMKeyTests: KeyScenes {
    private func sealedKey(in container: Container) -> String { container.home + "/Library/Keys/Account.tpm" }

    /// Runs a test with an archive that opens with a TPM, and for recovery with `ACCOUNT_KEY`.
    private func runSealed(
        _ test: (_ account: Tool, _ tpm: SimulatedTPM, _ container: Container) async throws -> Void
    ) async throws {
        try await run { account, container in
            try await SimulatedTPM.run(in: container) { tpm in
                try await seal(account.with(tpm))
                try await test(account.with(tpm), tpm, container)
            }
        }
    }

    private func seal(_ account: Tool) async throws {
        let account = account.with("ACCOUNT_KEY", Self.key)
        for words in [["add", "environment"], ["add", "tpm"], ["remove", "file"]] {
            let outcome = try await account.run(["key"] + words)
            guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
        }
        #expect(try await keys(account).slots.map(\.kind) == ["environment", "tpm"])
    }

    @Test func `A TPM key opens the archive on its machine only`() async throws {
        try await run { account, container in
            try await SimulatedTPM.run(named: "first", in: container) { firstTPM in
                try await SimulatedTPM.run(named: "second", in: container) { secondTPM in
                    let first = account.with(firstTPM)
                    #expect(try await first("key", "add", "tpm").exitCode == 0)
                    try await lock(first, by: "correct horse")
                    #expect(try await keys(first).slots.map(\.kind) == ["tpm", "passphrase"])
                    #expect(try await runDetached(first, "whoami", "--offline").output == "wang\n")

                    // All files of the first machine do not open on the second one.
                    let home = container.path("second-machine")
                    try FileManager.default.copyItem(atPath: container.home, toPath: home)
                    let second = account.with(secondTPM).with("ACCOUNT_HOME", home)
                    let refused = try await runDetached(second, "whoami", "--offline")
                    #expect(refused.exitCode == 65, "\(refused)")
                    #expect(refused.output == "")
                    #expect(refused.errors.contains("another TPM sealed it"), "\(refused)")

                    try FileManager.default.removeItem(atPath: home + "/Library/Keys/Account.tpm")
                    let keyless = try await runDetached(second, "whoami", "--offline")
                    #expect(keyless.exitCode == 65)
                    let added = try await Terminal.run(
                        second.command(["key", "add", "tpm"]), .wait("Passphrase: "), .type("correct horse"), .enter)
                    #expect(added.exitCode == 0, "\(added)")
                    #expect(try await runDetached(second, "whoami", "--offline").output == "wang\n")

                    // Both machines share the new archive.
                    try FileManager.default.removeItem(atPath: container.archive)
                    let shared = home + "/Documents/Account.plist"
                    try FileManager.default.copyItem(atPath: shared, toPath: container.archive)
                    #expect(try await runDetached(first, "whoami", "--offline").output == "wang\n")
                    #expect(try await keys(first).slots.map(\.kind) == ["tpm", "passphrase", "tpm"])
                    #expect(try await keys(first).slots.map(\.opensNow) == [true, false, false])
                    #expect(try await keys(second).slots.map(\.opensNow) == [false, false, true])
                }
            }
        }
    }

    @Test func `The recovery key opens the archive after the TPM was cleared`() async throws {
        try await runSealed { account, tpm, container in
            #expect(try await account("whoami", "--offline").output == "wang\n")
            let before = try container.files()
            #expect(try await tpm.run("tpm2_clear -c p", in: container).exitCode == 0)
            let refused = try await account("whoami", "--offline")
            #expect(refused.exitCode == 65, "\(refused)")
            #expect(refused.errors.contains("the TPM was cleared. You are not signed out"), "\(refused)")
            #expect(refused.errors.contains("rm \(sealedKey(in: container))"), "\(refused)")
            let inspected = try await account("doctor")
            #expect(inspected.exitCode != 0 && inspected.output.contains("the TPM was cleared"), "\(inspected)")
            let recovering = account.with("ACCOUNT_KEY", Self.key)
            #expect(try await recovering("whoami", "--offline").output == "wang\n")
            for name in ["Documents/Account.plist", "Library/Keys/Account.tpm"] {
                #expect(try container.files()["container/" + name] == before["container/" + name])
            }

            // Follow the hint.
            try FileManager.default.removeItem(atPath: sealedKey(in: container))
            #expect(try await recovering("key", "remove", "tpm").exitCode == 0)
            #expect(try await recovering("key", "add", "tpm").exitCode == 0)
            #expect(try await account("whoami", "--offline").output == "wang\n")
        }
    }

    @Test func `The archive opens while the TPM is locked out`() async throws {
        try await runSealed { account, tpm, container in
            // One wrong password for another object locks the TPM.
            let locked = try await tpm.run(
                """
                tpm2_dictionarylockout -s -n 1 -t 1000 -l 1000
                tpm2_createprimary -Q -C o -c primary; tpm2_flushcontext -t
                echo secret | tpm2_create -Q -C primary -p password -i - -u public -r private; tpm2_flushcontext -t
                tpm2_load -Q -C primary -u public -r private -c object; tpm2_flushcontext -t
                ! tpm2_unseal -c object -p wrong; tpm2_flushcontext -t
                ! tpm2_unseal -c object -p password; tpm2_flushcontext -t
                tpm2_getcap properties-variable
                """, in: container)
            #expect(locked.exitCode == 0 && locked.output.contains(/inLockout: +1/), "\(locked)")
            #expect(!locked.output.contains("secret"))
            #expect(try await account("whoami", "--offline").output == "wang\n")
        }
    }

    @Test func `An absent TPM keeps the session, and the archive opens later`() async throws {
        try await run { account, container in
            let absent = try await SimulatedTPM.run(in: container) { tpm in
                try await seal(account.with(tpm))
                return account.with(tpm)
            }
            let before = try container.entry(container.archive)
            for account in [absent, absent.with("TPM2TOOLS_TCTI", "device:/nonexistent")] {
                let refused = try await account("whoami", "--offline")
                #expect(refused.exitCode == 65, "\(refused)")
                #expect(refused.errors.contains("the key \(sealedKey(in: container)) requires a TPM"), "\(refused)")
                #expect(refused.errors.contains("You are not signed out"))
                #expect(refused.errors.contains("TPM2TOOLS_TCTI"))
                let added = try await account("key", "add", "tpm")
                #expect(added.exitCode == 65, "\(added)")
            }
            #expect(try container.entry(container.archive) == before)
            #expect(try await absent.with("ACCOUNT_KEY", Self.key)("whoami", "--offline").output == "wang\n")
            try await SimulatedTPM.run(in: container) { tpm in
                let opened = try await account.with(tpm)("whoami", "--offline")
                #expect(opened.output == "wang\n", "\(opened)")
            }
        }
    }

    @Test func `A TPM key requires a recovery key, unless the user declines`() async throws {
        try await run { account, container in
            try await SimulatedTPM.run(in: container) { tpm in
                let account = account.with(tpm)
                let added = try await account("key", "add", "tpm")
                #expect(added.exitCode == 0, "\(added)")
                #expect(added.errors.contains("account key add passphrase`, then `account key remove file"), "\(added)")
                let refused = try await account("key", "remove", "file")
                #expect(refused.exitCode == 64)
                #expect(refused.errors.contains("key add passphrase") && refused.errors.contains("--no-recovery"))
                #expect(try await keys(account).slots.map(\.kind) == ["file", "tpm"])
                #expect(try await account("key", "remove", "file", "--no-recovery").exitCode == 0)
                #expect(try await keys(account).slots.map(\.kind) == ["tpm"])
                #expect(try await account("key", "add", "tpm").exitCode == 64)
                #expect(try await account("key", "add", "tpm", "--no-recovery").exitCode == 0)
                #expect(try await keys(account).slots.map(\.kind) == ["tpm"])
                #expect(try await account("whoami", "--offline").output == "wang\n")
            }
        }
    }

    @Test func `A new archive requires a recovery key beside a TPM key`() async throws {
        try await Container.run { container in
            try await SimulatedTPM.run(in: container) { tpm in
                let account = try Tool.account(in: container).with(tpm)
                #expect(try await account("key", "add", "tpm").exitCode == 0)
                #expect(try await account("key", "remove", "file").exitCode == 64)
                #expect(try await account("key", "remove", "file", "--no-recovery").exitCode == 0)
                try await signIn(account, container)
                #expect(try await keys(account).slots.map(\.kind) == ["tpm"])
                #expect(!container.exists(container.key))
            }
        }
    }

    @Test func `A kill during key add leaves an archive that opens`() async throws {
        try await run { account, container in
            try await SimulatedTPM.run(in: container) { tpm in
                let account = account.with(tpm)
                for call in ["/^link:when=1", "/^fsync:when=1", "/^fsync:when=3", "/^rename:when=1", "/^rename:when=2"]
                {
                    let parts = call.split(separator: ":")
                    let killed = try await account.command(["key", "add", "tpm"]).run(
                        by: "strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=\(parts[0]):signal=KILL:\(parts[1])"
                    ).run()
                    #expect(killed.exitCode == 137, "\(call): \(killed)")
                    #expect(try await tpm.run("tpm2_flushcontext -t", in: container).exitCode == 0)
                    #expect(try await account("whoami", "--offline").output == "wang\n", "\(call)")
                    #expect(try await account("key", "add", "tpm").exitCode == 0, "\(call)")
                    #expect(try await keys(account).slots.map(\.opensNow) == [true, true], "\(call)")
                    #expect(try await account("key", "remove", "tpm").exitCode == 0, "\(call)")
                }
                #expect(try await account("doctor").exitCode == 0)
            }
        }
    }

    /// Opens the archive with tpm2-tools and the independent reader.
    @Test func `Only the TPM reveals the key in the sealed file`() async throws {
        try await runSealed { account, tpm, container in
            // The template of the storage root key has two numbers of 32 zero bytes.
            let unsealed = try await tpm.run(
                """
                python3 - '\(sealedKey(in: container))' <<'END'
                import struct, sys
                file = open(sys.argv[1], "rb").read()
                assert file[:10] == b"TPMK\\r\\n\\x1a\\n\\0\\1"
                offset, fields = 10, []
                while offset < len(file):
                    (length,) = struct.unpack_from(">H", file, offset)
                    fields.append(file[offset:offset + 2 + length])
                    offset += 2 + length
                for name, field in zip(["name", "public", "private"], fields, strict=True):
                    open(name, "wb").write(field)
                open("unique", "wb").write(2 * struct.pack("<H128x", 32))
                END
                tpm2_createprimary -Q -C o -g sha256 -G ecc256:aes128cfb -u unique -c primary \
                    -a 'restricted|decrypt|fixedtpm|fixedparent|sensitivedataorigin|userwithauth|noda'
                tpm2_flushcontext -t
                tpm2_load -Q -C primary -u public -r private -c object; tpm2_flushcontext -t
                tpm2_unseal -c object >key; tpm2_flushcontext -t
                """, in: container)
            #expect(unsealed.exitCode == 0, "\(unsealed)")
            let path = container.path("temporary/key")
            let key = try #require(try container.entry(path)).bytes
            #expect(key.count == 32)
            let read = try await Command(
                words: [
                    "python3", "-B", BuiltProducts.repository.path + "/Tests/ReaderTests/read_account.py",
                    container.archive, "--key", path, "--app", "account",
                ], environment: container.environment
            ).run()
            #expect(read.exitCode == 0 && read.output.contains("wang"), "\(read)")
            for (name, entry) in try container.files() where name != "temporary/key" {
                #expect(!entry.bytes.contains(key), "\(name)")
            }

            // Nor does a program that reads the bus of the chip see the key. 0x15E is the command that unseals it.
            let bus = container.path("bus")
            let opened = try await account.command(["whoami", "--offline"]).run(
                by: "strace", "-f", "-qq", "-xx", "-s", "4096", "-e", "trace=%network,read,write,writev", "-o", bus
            ).run()
            #expect(opened.output == "wang\n", "\(opened)")
            let traffic = try String(contentsOfFile: bus, encoding: .utf8)
            #expect(traffic.contains(Self.escaped([0, 0, 1, 0x5E])))
            #expect(!traffic.contains(Self.escaped(key)))
        }
    }

    @Test func `Refuses a key that was altered on its way from the TPM`() async throws {
        try await runSealed { account, tpm, container in
            let before = try container.files()
            let passing = try await account.with("TPM2TOOLS_TCTI", tpm.bus)("whoami", "--offline")
            #expect(passing.output == "wang\n", "\(passing)")
            // The reason matters: after a wrong key, `login` would move the archive aside and use that key.
            let refused = try await account.with("TPM2TOOLS_TCTI", tpm.alteringBus)("whoami", "--offline")
            #expect(refused.exitCode == 65 && refused.output == "", "\(refused)")
            #expect(refused.errors.contains("requires the TPM, which refused a command ("), "\(refused)")
            for name in ["Documents/Account.plist", "Library/Keys/Account.tpm"] {
                #expect(try container.files()["container/" + name] == before["container/" + name])
            }
            // The simulator has no resource manager, which would flush the objects of the failed command.
            #expect(try await tpm.run("tpm2_flushcontext -t", in: container).exitCode == 0)
            #expect(try await account("whoami", "--offline").output == "wang\n")
        }
    }

    private static func escaped(_ bytes: [UInt8]) -> String {
        bytes.map { "\\x" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
