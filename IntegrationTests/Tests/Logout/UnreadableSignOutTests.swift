@testable import EndToEndSupport
import Testing

/// Signing out although the archive cannot be opened.
@Suite(.queued)
struct UnreadableSignOutTests {
    static let damages: [@Sendable (Container) throws -> Void] = [
        { try $0.write("nonsense".utf8, to: $0.archive) },
        { container in
            // As if the file had been truncated.
            let bytes = try container.entry(container.archive)?.bytes ?? []
            try container.write(bytes.prefix(bytes.count / 2), to: container.archive)
        },
        { try $0.write([UInt8](repeating: 7, count: 32), to: $0.key) },
    ]

    @Test(arguments: damages.indices)
    func `logout moves an unreadable archive aside and explains the effect`(index: Int) async throws {
        try await SignedInUser.run { user in
            try Self.damages[index](user.container)
            let bytes = try user.container.entry(user.container.archive)?.bytes
            let logout = try await user.account("logout")
            #expect(logout.exitCode == 0, "\(logout)")
            #expect(logout.output == "")
            #expect(logout.errors.contains("was not notified"), "\(logout)")
            #expect(!user.container.exists(user.container.archive))
            // The archive is kept, since it may still be recoverable.
            let moved = try user.container.quarantine()
            #expect(moved.count == 1)
            #expect(try moved.first.flatMap { try user.container.entry($0) }?.bytes == bytes)
            #expect(try await user.server.log()["/oauth/revoke"] == 0)

            let after = try await user.account("whoami", "--json")
            #expect(after.exitCode == 77)
            #expect(try after.document().reason == "signedOutByUser")
            try await user.signIn()
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
        }
    }

    @Test func `logout --all signs out readable and unreadable sessions`() async throws {
        try await SignedInUser.run { user in
            try await user.signIn(session: "work")
            try user.container.write("nonsense".utf8, to: user.container.archive)
            let logout = try await user.account("logout", "--all")
            #expect(logout.exitCode == 0, "\(logout)")
            #expect(logout.errors.contains("was not notified"), "\(logout)")
            #expect(try user.container.quarantine().count == 1)
            for session in ["default", "work"] {
                #expect(try await user.account("whoami", "--session", session).exitCode == 77)
            }
            #expect(try await user.server.log()["/oauth/revoke"] > 0)
        }
    }
}
