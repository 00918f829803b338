import AccountKit
import AccountTesting
import Foundation
import Testing

/// The search for sessions with queued revocations, and the index of these sessions. Neither opens an archive.
@Suite struct RevocationFolderTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test(arguments: ["default", "work"])
    func `Finds the queue of a session until its revocation was sent`(name: String) async throws {
        let session = try SessionName(name)
        let container = try folder.container()
        let clock = ManualClock()
        let store = AccountStore(container: container, session: session, clock: clock)
        #expect(!container.revocationIndex.mayHaveEntries(session), "there is no folder")
        try await store.signIn { .fresh(at: clock.now) }
        #expect(!container.revocationIndex.mayHaveEntries(session), "the folder contains only the account")
        let index = container.revocationIndex
        #expect(try index.sessions().isEmpty, "there is no index")

        let authority = ScriptedAuthority(revoke: [.refuse(.noResponse(.timeout)), .accept], clock: clock)
        try await store.signOut(with: authority)
        #expect(container.revocationIndex.mayHaveEntries(session))
        #expect(try index.sessions() == [session])

        clock.advance(by: .seconds(60))
        #expect(await store.deliverRevocations { _ in authority }.map(\.outcome) == [.done])
        #expect(!container.revocationIndex.mayHaveEntries(session))
        #expect(try index.sessions().isEmpty)
    }

    @Test func `Keeps a session in the index while its queue has an entry`() async throws {
        let container = try folder.container()
        let clock = ManualClock()
        let store = AccountStore(container: container, clock: clock)
        let offline = ScriptedAuthority(
            revoke: [.refuse(.noResponse(.timeout)), .refuse(.noResponse(.timeout))], clock: clock)
        for token in ["first", "second"] {
            try await store.signIn {
                var account = Account.fresh(at: clock.now)
                account.credentials.accessToken = Secret(token)
                account.credentials.refreshToken = Secret(token)
                return account
            }
            try await store.signOut(with: offline)
        }
        clock.advance(by: .seconds(60))
        let partly = ScriptedAuthority(revoke: [.accept, .refuse(.noResponse(.timeout))], clock: clock)
        let outcomes = await store.deliverRevocations { _ in partly }.map(\.outcome)
        #expect(Set(outcomes) == [.done, .queued(.noResponse(.timeout))])
        #expect(try container.revocationIndex.sessions() == [.default])
    }

    @Test func `Queues a revocation even if the session cannot be added to the index`() async throws {
        let container = try folder.container()
        let clock = ManualClock()
        let store = AccountStore(container: container, clock: clock)
        try await store.signIn { .fresh(at: clock.now) }
        let index = folder.documents + "/Revocations"
        try Data("not an index".utf8).write(to: URL(filePath: index))

        let authority = ScriptedAuthority(revoke: [.refuse(.noResponse(.timeout)), .accept], clock: clock)
        #expect(try await store.signOut(with: authority).revocation == .queued(.noResponse(.timeout)))
        #expect(try String(contentsOfFile: index, encoding: .utf8) == "not an index")
        clock.advance(by: .seconds(60))
        #expect(await store.deliverRevocations { _ in authority }.map(\.outcome) == [.done])
    }

    @Test func `Refuses an index that other users can change`() async throws {
        let index = folder.documents + "/Revocations"
        try FileManager.default.createDirectory(atPath: index, withIntermediateDirectories: true)
        try #require(chmod(index, 0o770) == 0)
        let container = try folder.container()
        #expect { try container.revocationIndex.sessions() } throws: {
            ($0 as? AccountError)?.code == .insecureContainer
        }
    }

    @Test func `Considers a folder that cannot be listed`() throws {
        let container = try folder.container()
        let session = try SessionName("work")
        try FileManager.default.createDirectory(
            atPath: folder.documents + "/Sessions", withIntermediateDirectories: true)
        try Data().write(to: URL(filePath: folder.documents + "/Sessions/work"))
        #expect(container.revocationIndex.mayHaveEntries(session))
    }
}
