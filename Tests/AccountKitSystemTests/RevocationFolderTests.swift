import AccountKit
import AccountTesting
import Foundation
import Testing

/// The search for sessions with queued revocations, which opens no archive.
@Suite struct RevocationFolderTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test(arguments: ["default", "work"])
    func `Finds the queue of a session until its revocation was sent`(name: String) async throws {
        let session = try SessionName(name)
        let container = try folder.container()
        let clock = ManualClock()
        let store = AccountStore(container: container, session: session, clock: clock)
        #expect(!container.mayHaveRevocations(session), "there is no folder")
        try await store.signIn { .fresh(at: clock.now) }
        #expect(!container.mayHaveRevocations(session), "the folder contains only the account")

        let authority = ScriptedAuthority(revoke: [.refuse(.noResponse(.timeout)), .accept], clock: clock)
        try await store.signOut(with: authority)
        #expect(container.mayHaveRevocations(session))

        clock.advance(by: .seconds(60))
        #expect(await store.deliverRevocations { _ in authority }.map(\.outcome) == [.done])
        #expect(!container.mayHaveRevocations(session))
    }

    @Test func `Considers a folder that cannot be listed`() throws {
        let container = try folder.container()
        let session = try SessionName("work")
        try FileManager.default.createDirectory(
            atPath: folder.documents + "/Sessions", withIntermediateDirectories: true)
        try Data().write(to: URL(filePath: folder.documents + "/Sessions/work"))
        #expect(container.mayHaveRevocations(session))
    }
}
