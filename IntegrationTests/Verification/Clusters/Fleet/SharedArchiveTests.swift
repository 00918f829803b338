@testable import EndToEndSupport
import Foundation
import Subprocess
import Testing

/// Machines without the key of the archive that they share with other machines.
@Suite(.etcd, .queued)
struct SharedArchiveTests {
    /// The user alice with a session in a shared store, and another machine that uses the store without her key.
    private struct Scene {
        let user: SignedInUser
        let machine: Tool
        let container: Container
        let key: String

        func archive() async throws -> String? { try await EtcdServer.shared.get(key) }

        func login(_ arguments: String...) async throws -> Outcome {
            try await machine.run(
                ["login", "--issuer", user.server.issuer, "--username", "bob", "--password-stdin"] + arguments,
                input: ExampleServer.bobPassword + "\n")
        }
    }

    /// - Parameter hasOtherKey: Whether the machine has another key, instead of no key.
    private func run(hasOtherKey: Bool, _ test: (Scene) async throws -> Void) async throws {
        let prefix = "s\(UUID().uuidString.prefix(8))"
        let url = try EtcdServer.shared.url(prefix)
        try await Container.run { container in
            try await ExampleServer.run { server in
                let account = try Tool.account(in: container).with("ACCOUNT_STORE", url)
                let user = SignedInUser(server: server, container: container, account: account)
                try await user.signIn()
                try await Container.run { other in
                    let machine = try Tool.account(in: other).with("ACCOUNT_STORE", url)
                    if hasOtherKey {
                        // Signing in at another URL creates the key file.
                        let elsewhere = SignedInUser(
                            server: server, container: other, account: machine.with("ACCOUNT_STORE", url + "2"))
                        try await elsewhere.signIn()
                    }
                    try await server.clearLog()
                    try await test(
                        Scene(
                            user: user, machine: machine, container: other,
                            key: "\(prefix)/account/default/Account.plist"))
                }
            }
        }
    }

    @Test(arguments: [true, false])
    func `Without the key, no command replaces or removes a shared archive`(hasOtherKey: Bool) async throws {
        try await run(hasOtherKey: hasOtherKey) { scene in
            let before = try await scene.archive()
            for (outcome, wayOut) in [
                (try await scene.login(), "login --replace"), (try await scene.machine("logout"), "logout --force"),
                (try await scene.machine("logout", "--all"), "logout --force"),
            ] {
                #expect(outcome.exitCode == 65, "\(outcome)")
                #expect(outcome.errors.contains("the key that the other machines use"), "\(outcome)")
                #expect(outcome.errors.contains("account \(wayOut)"), "\(outcome)")
                #expect(outcome.errors.contains("other machines"), "\(outcome)")
                #expect(!outcome.errors.contains("sign in again"), "\(outcome)")
            }
            let login = try await scene.login("--json")
            #expect(try login.document().error?.code == (hasOtherKey ? "wrongKeyOrDamaged" : "noKey"), "\(login)")
            for arguments in [["whoami"], ["refresh"], ["token"], ["key", "rotate"]] {
                let outcome = try await scene.machine.run(arguments)
                #expect(outcome.exitCode != 0, "\(outcome)")
                #expect(!outcome.errors.contains("sign in again"), "\(outcome)")
            }
            let status = try await scene.machine("status")
            #expect(status.exitCode == 65, "\(status)")
            #expect(status.output.contains("the key that the other machines use"), "\(status)")
            #expect(!status.output.contains("sign in again"), "\(status)")
            let doctor = try await scene.machine("doctor", "--fix")
            #expect(doctor.exitCode == 78, "\(doctor)")
            #expect(doctor.output.contains("the key that the other machines use"), "\(doctor)")
            #expect(try await scene.archive() == before)
            #expect(scene.container.exists(scene.container.key) == hasOtherKey, "no useless key is created")
            let log = try await scene.user.server.log()
            #expect(log["/oauth/token"] == 0, "the password was not sent")
            #expect(log["/oauth/revoke"] == 0)
            #expect(try await scene.user.account("whoami", "--verify").output == "alice\n")
        }
    }

    @Test func `login --replace explains the effect on the other machines`() async throws {
        try await run(hasOtherKey: true) { scene in
            let before = try await scene.archive()
            let login = try await scene.login("--replace")
            #expect(login.exitCode == 0, "\(login)")
            #expect(login.errors.contains("Signed in as bob"), "\(login)")
            #expect(login.errors.contains("Account.plist.unreadable-"), "the archive is not lost: \(login)")
            #expect(login.errors.contains("Other machines now need this machine's key"), "\(login)")
            #expect(login.errors.contains("stay valid at the service"), "\(login)")
            #expect(try await scene.archive() != before)
            #expect(try await scene.machine("whoami", "--verify").output == "bob\n")
            let other = try await scene.user.account("whoami")
            #expect(other.exitCode == 65, "\(other)")
            #expect(try await scene.user.server.log()["/oauth/revoke"] == 0)
        }
    }

    @Test func `login --replace has no effect on an archive that opens`() async throws {
        try await run(hasOtherKey: true) { scene in
            let before = try await scene.archive()
            let refused = try await scene.machine(
                "login", "--issuer", scene.user.server.issuer, "--username", "bob", "--password-stdin", "--replace",
                input: "wrong\n")
            #expect(refused.exitCode == 77, "\(refused)")
            #expect(try await scene.archive() == before)
            let login = try await scene.user.account(
                "login", "--username", "alice", "--password-stdin", "--replace",
                input: ExampleServer.alicePassword + "\n")
            #expect(login.exitCode == 0, "\(login)")
            #expect(!login.errors.contains("Other machines"), "\(login)")
        }
    }

    @Test func `logout --force signs out all machines and reports the effect`() async throws {
        try await run(hasOtherKey: true) { scene in
            let logout = try await scene.machine("logout", "--force", "--json")
            #expect(logout.exitCode == 0, "\(logout)")
            #expect(logout.output.contains("Account.plist.unreadable-"), "\(logout)")
            #expect(logout.errors.contains("Other machines that use this store are signed out too"), "\(logout)")
            #expect(logout.errors.contains("stay valid at the service"), "\(logout)")
            let other = try await scene.user.account("whoami", "--json")
            #expect(other.exitCode == 77, "\(other)")
            #expect(try other.document().reason == "signedOutByUser")
        }
    }
}
