@testable import EndToEndSupport
import Foundation
import Testing

/// Keys that other programs print: programs of the desktop, and programs that ask a TPM.
@Suite(.queued)
struct KeyProgramTests: KeyScenes {
    /// Follows the instructions of the documentation, with a separate keyring.
    @Test func `Reads the key from a desktop keyring`() async throws {
        try await run { account, container in
            let script = """
                printf 'keyring password\\n' | gnome-keyring-daemon --unlock --components=secrets >/dev/null
                openssl rand -base64 32 | secret-tool store --label=account service account
                "$1" key add command -- secret-tool lookup service account
                "$1" key remove file
                "$1" whoami --offline
                secret-tool clear service account
                "$1" whoami --offline || echo "without: $?"
                """
            let session = Command(
                words: ["dbus-run-session", "--", "sh", "-ec", script, "sh", account.path],
                environment: account.environment.merging(["XDG_RUNTIME_DIR": container.path("temporary")]) { $1 })
            let outcome = try await session.run()
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(outcome.output.hasSuffix("alice\nwithout: 65\n"), "\(outcome)")
            #expect(!container.exists(container.key))
        }
    }

    @Test func `Reads the key from a password store`() async throws {
        try await run { account, container in
            let script = """
                gpg --batch --quiet --passphrase '' --quick-generate-key test@example.com default default never
                pass init test@example.com >/dev/null
                openssl rand -base64 32 | pass insert --echo account-key >/dev/null
                "$1" key add command -- pass show account-key >/dev/null
                "$1" key remove file >/dev/null
                "$1" whoami --offline
                gpgconf --kill all
                """
            let outcome = try await Command(
                words: ["sh", "-ec", script, "sh", account.path], environment: account.environment
            ).run()
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(outcome.output == "alice\n")
        }
    }

    @Test func `A kill during key add leaves an archive that opens`() async throws {
        try await run { account, container in
            try container.write(Array(Self.key.utf8), to: container.path("key"))
            let add = ["key", "add", "command", "--", "cat", container.path("key")]
            let settings = container.home + "/Library/Preferences/Sessions/default"
            let documents = container.home + "/Documents"
            for (call, path) in [
                ("fsync", settings), ("openat", documents + "/Account.lock"), ("fsync", documents),
            ] {
                let killed = try await account.command(add).run(
                    by: "strace", "-f", "-qq", "-o", "/dev/null", "-P", path, "-e", "inject=/^\(call):signal=KILL"
                ).run()
                #expect(killed.exitCode == 137, "\(call) \(path): \(killed)")
                #expect(try await account("whoami", "--offline").output == "alice\n", "\(call) \(path)")
                #expect(try await account.run(add).exitCode == 0, "\(call) \(path)")
                #expect(try await keys(account).slots.map(\.opensNow) == [true, true], "\(call) \(path)")
                #expect(try await account("key", "remove", "command").exitCode == 0, "\(call) \(path)")
            }
            #expect(try await account("doctor").exitCode == 0)
        }
    }

    // MARK: A TPM

    /// Follows a recipe of the article about keys, with another TPM in place of `/dev/tpmrm0`, and removes the key file.
    ///
    /// - Parameter program: The program that asks the TPM.
    private func followRecipe(with program: String, _ account: Tool, _ tpm: SimulatedTPM) async throws {
        let article = BuiltProducts.repository.path + "/Sources/AccountKit/AccountKit.docc/ChoosingAKey.md"
        let recipes = try String(contentsOfFile: article, encoding: .utf8).components(separatedBy: "```").filter {
            $0.hasPrefix("console") && $0.contains("key add command -- \(program) ")
        }
        try #require(recipes.count == 1, "\(recipes)")
        let lines = recipes[0].components(separatedBy: "\n").filter { $0.hasPrefix("$ ") }.map {
            String($0.dropFirst(2)).replacing("-T device:/dev/tpmrm0 ", with: "")
                .replacing("=device:/dev/tpmrm0", with: "=$TPM2TOOLS_TCTI")
        }
        let outcome = try await tpm.run(
            ["account() { '\(account.path)' \"$@\"; }"] + lines + ["account key remove file"],
            environment: account.environment)
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
    }

    @Test(arguments: ["systemd-creds", "tpm2_unseal"])
    func `A key that a TPM protects opens the archive on its machine only`(program: String) async throws {
        try await run { account, container in
            try await SimulatedTPM.run(named: "first", in: container) { tpm in
                try await followRecipe(with: program, account, tpm)
                let account = account.with(tpm)
                #expect(try await account("whoami", "--offline").output == "alice\n")
                let listed = try await keys(account)
                #expect(listed.slots.map(\.kind) == ["command"])

                // No file of the user contains the key.
                let words = try #require(listed.sources.compactMap(\.command).first)
                let printed = try await tpm.run([words.joined(separator: " ")], environment: account.environment)
                let key = printed.output.filter { !$0.isWhitespace }
                let bytes = try #require(Data(base64Encoded: key))
                #expect(bytes.count == 32)
                for (name, entry) in try container.files() where !name.hasPrefix("first") {
                    let content = Data(entry.bytes)
                    #expect(content.range(of: bytes) == nil && content.range(of: Data(key.utf8)) == nil, "\(name)")
                }
            }
            let before = try container.entry(container.archive)
            try await SimulatedTPM.run(named: "second", in: container) { tpm in
                let refused = try await account.with(tpm)("whoami", "--offline")
                #expect(refused.exitCode == 65 && refused.output == "", "\(refused)")
                #expect(refused.errors.contains("the program that prints the key failed"), "\(refused)")
            }
            #expect(try await account("whoami", "--offline").exitCode == 65)
            #expect(try container.entry(container.archive) == before)
            try await SimulatedTPM.run(named: "first", in: container) { tpm in
                let opened = try await account.with(tpm)("whoami", "--offline")
                #expect(opened.output == "alice\n", "\(opened)")
            }
        }
    }

    @Test func `Another key opens the archive after the TPM was cleared`() async throws {
        try await run { account, container in
            try await SimulatedTPM.run(in: container) { tpm in
                let variable = account.with(tpm).with("ACCOUNT_KEY", Self.key)
                #expect(try await variable("key", "add", "environment").exitCode == 0)
                try await followRecipe(with: "tpm2_unseal", account.with("ACCOUNT_KEY", Self.key), tpm)
                #expect(try await account.with(tpm)("whoami", "--offline").output == "alice\n")
                let before = try container.entry(container.archive)
                #expect(try await tpm.run(["tpm2_clear -c p"], environment: container.environment).exitCode == 0)
                #expect(try await account.with(tpm)("whoami", "--offline").exitCode == 65)
                #expect(try container.entry(container.archive) == before)
                #expect(try await variable("whoami", "--offline").output == "alice\n")
                #expect(try await variable("key", "remove", "command").exitCode == 0)
                #expect(try await keys(variable).slots.map(\.kind) == ["environment"])
            }
        }
    }
}
