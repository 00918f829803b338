@testable import EndToEndSupport
import Testing

/// Keys that programs of the desktop store.
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
            #expect(outcome.output.hasSuffix("wang\nwithout: 65\n"), "\(outcome)")
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
            #expect(outcome.output == "wang\n")
        }
    }
}
