import AccountTesting
import TestScene
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import AccountKit
import AccountSupport

/// The exchange of a code or password for an account. After a request is sent, its tokens are stored or revoked.
struct SignInExchangeTests {
    /// A way to sign in to a service.
    enum Way: CaseIterable, Sendable {
        case device, browser, password

        /// Whether the user is identified by a separate request after the tokens arrive.
        var identifies: Bool { self != .password }

        func signIn(
            _ store: AccountStore, _ authority: SteppedAuthority, clock: InstantClock = InstantClock()
        ) async throws -> Account {
            switch self {
            case .device: try await store.signIn(with: authority, clock: clock, showing: { _ in })
            case .browser: try await store.signIn(with: authority, clock: clock, opening: { _ in })
            case .password: try await store.signIn(username: "carol", password: Secret("p"), with: authority)
            }
        }
    }

    private let storage = InMemoryArchiveStorage()

    private func store(signedIn account: Account? = nil) async throws -> AccountStore {
        try await AccountStore.inMemory(signedIn: account, storage: storage)
    }

    @Test(arguments: Way.allCases)
    func `Stores the tokens of a sign-in before the exchange ends`(way: Way) async throws {
        let store = try await store()
        let recorder = ExchangeRecorder()
        store.observeExchanges(recorder)
        let authority = SteppedAuthority()
        let account = try await way.signIn(store, authority)
        #expect(store.hasFinishedExchanges)
        #expect(recorder.counts == [1, 0])
        #expect(try await storage.stateForNewProcess().account == account)
        #expect(!authority.requests.contains("revoke"))
    }

    // MARK: Identifying the user

    @Test(arguments: Way.allCases.filter(\.identifies))
    func `After the exchange, retries only the user request, with growing pauses`(way: Way) async throws {
        let users = Answers<String>(
            .failure(.noResponse(.timeout)), .failure(.unavailable(status: 503, retryAfter: nil)),
            .failure(.intercepted("a web page")), .success("carol"))
        let authority = SteppedAuthority(user: { try users.next() })
        let clock = InstantClock()
        let account = try await way.signIn(try await store(), authority, clock: clock)
        #expect(account.id == "carol")
        #expect(authority.requests.count { $0 == "tokens" } == 1, "the code is spent")
        #expect(authority.requests.count { $0 == "user" } == 4)
        #expect(clock.waits.suffix(3) == [.seconds(1), .seconds(2), .seconds(4)])
        #expect(authority.revoked.isEmpty)
    }

    @Test(arguments: Way.allCases.filter(\.identifies))
    func `Revokes the tokens if the user cannot be identified`(
        way: Way
    ) async throws {
        let store = try await store(signedIn: Fixture.alice)
        let before = storage.entries
        let authority = SteppedAuthority(user: { throw AuthorityError.noResponse(.timeout) })
        let clock = InstantClock()
        let error = await expectAccountError(.serviceUnavailable) {
            try await way.signIn(store, authority, clock: clock)
        }
        #expect(error?.description.contains("did not identify the user") == true)
        #expect(error?.description.contains("they have been revoked") == true)
        // The requests continue until the code would have expired, with pauses of at most fifteen seconds.
        let limit = way == .device ? 600.0 : 60
        #expect(clock.now.offset.seconds > limit - 16 && clock.now.offset.seconds < limit)
        #expect(authority.requests.count { $0 == "tokens" } == 1)
        #expect(authority.revoked == ["access-2"])
        #expect(storage.entries == before)
        #expect(store.hasFinishedExchanges)
    }

    @Test(arguments: Way.allCases.filter(\.identifies))
    func `Warns that tokens stay valid if no revocation can be sent or queued`(way: Way) async throws {
        let storage = FaultyArchiveStorage()
        let store = try await AccountStore.inMemory(signedIn: nil, storage: storage)
        for number in 1...9 { storage.inject(.fails(FaultyArchiveStorage.diskFull), at: number, of: .replace) }
        let authority = SteppedAuthority(
            user: { throw AuthorityError.unauthorized(error: "invalid_token") },
            revocation: { throw AuthorityError.noResponse(.timeout) })
        let error = await #expect(throws: AccountError.self) { try await way.signIn(store, authority) }
        #expect(error?.description.contains("stay valid until they expire") == true, "\(error?.message ?? "")")
    }

    @Test(arguments: Way.allCases.filter(\.identifies))
    func `Queues a failed revocation of a sign-in's tokens`(way: Way) async throws {
        let store = try await store()
        let authority = SteppedAuthority(
            user: { throw AuthorityError.unauthorized(error: "invalid_token") },
            revocation: { throw AuthorityError.noResponse(.timeout) })
        let error = await #expect(throws: AccountError.self) { try await way.signIn(store, authority) }
        #expect(error?.description.contains("they will be revoked") == true)
        #expect(authority.requests.count { $0 == "user" } == 1, "the same request would get the same response")
        let later = SteppedAuthority()
        await store.deliverRevocations(with: { _ in later }, ignoringPauses: true)
        #expect(later.revoked == ["access-2"])
    }

    @Test func `Polls for tokens in a device sign-in before identifying the user`() async throws {
        let polls = Answers<Credentials>(
            .failure(.oauthError("authorization_pending")), .failure(.oauthError("slow_down")),
            .failure(.noResponse(.timeout)), .success(Fixture.newTokens))
        let authority = SteppedAuthority(tokens: { try polls.next() })
        let clock = InstantClock()
        let store = try await store()
        let recorder = ExchangeRecorder()
        store.observeExchanges(recorder)
        _ = try await Way.device.signIn(store, authority, clock: clock)
        #expect(authority.requests == ["tokens", "tokens", "tokens", "tokens", "user"])
        #expect(clock.waits == [5, 5, 10, 20].map { .seconds($0) })
        #expect(recorder.counts == [4, 0], "each poll may spend the code")
    }

    // MARK: Cancellation

    @Test(arguments: Way.allCases)
    func `Revokes the tokens of a sign-in that was cancelled during the exchange`(
        way: Way
    ) async throws {
        let store = try await store(signedIn: Fixture.alice)
        let before = storage.entries
        let gate = Gate()
        gate.shut()
        let authority = SteppedAuthority(tokens: {
            await gate.pass()
            return Fixture.newTokens
        })
        let signIn = Task { try await way.signIn(store, authority) }
        await gate.waitForSomebody()
        signIn.cancel()
        // The cancelled caller does not wait for the exchange.
        await expectAccountError(.cancelled) { try await signIn.value }
        #expect(!store.hasFinishedExchanges)
        gate.open()
        await store.finishPendingRequests()
        #expect(authority.revoked == ["access-2"])
        #expect(storage.entries == before)
        #expect(store.account == Fixture.alice)
    }

    @Test(arguments: Way.allCases)
    func `Stores no account after a cancellation during the wait for the lock`(way: Way) async throws {
        let faulty = FaultyArchiveStorage(storage)
        let store = try await AccountStore.inMemory(signedIn: nil, storage: faulty)
        // The first lock belongs to the check that the account can be saved.
        faulty.inject(.stalls, at: 2, of: .begin)
        let authority = SteppedAuthority()
        let signIn = Task { try await way.signIn(store, authority) }
        await faulty.waitForStall()
        let transaction = try await storage.beginTransaction(timeout: .zero)
        signIn.cancel()
        faulty.release()
        await expectAccountError(.cancelled) { try await signIn.value }
        // The tokens cannot be revoked before the stored account is known.
        #expect(!store.hasFinishedExchanges)
        await transaction.end()
        await store.finishPendingRequests()
        #expect(authority.revoked == ["access-2"])
        #expect(storage.entries.isEmpty)
    }

    @Test(arguments: Way.allCases)
    func `Revokes the tokens of an interrupted sign-in`(way: Way) async throws {
        let store = try await store(signedIn: Fixture.alice)
        let before = storage.entries
        let recorder = ExchangeRecorder()
        store.observeExchanges(recorder)
        let authority = SteppedAuthority(tokens: {
            recorder.interrupt()
            return Fixture.newTokens
        })
        await expectAccountError(.cancelled) { try await way.signIn(store, authority) }
        #expect(authority.revoked == ["access-2"])
        // Whether the tokens may be revoked depends on their user.
        #expect(authority.requests.count { $0 == "user" } == 1 || !way.identifies)
        #expect(storage.entries == before)
        #expect(recorder.counts == [1, 0])
    }

    @Test(arguments: Way.allCases.filter(\.identifies))
    func `Stops identifying the user after an interrupted sign-in`(way: Way) async throws {
        let store = try await store()
        let recorder = ExchangeRecorder()
        store.observeExchanges(recorder)
        let authority = SteppedAuthority(user: {
            recorder.interrupt()
            throw AuthorityError.noResponse(.timeout)
        })
        await expectAccountError(.cancelled) { try await way.signIn(store, authority) }
        #expect(authority.requests.count { $0 == "user" } == 1)
        #expect(authority.revoked == ["access-2"])
    }

    @Test(arguments: Way.allCases)
    func `Revokes the tokens of a sign-in that cannot be stored`(way: Way) async throws {
        let faulty = FaultyArchiveStorage(storage)
        let store = try await AccountStore.inMemory(signedIn: nil, storage: faulty)
        let authority = SteppedAuthority(tokens: {
            faulty.inject(.fails(FaultyArchiveStorage.diskFull), of: .replace)
            return Fixture.newTokens
        })
        await expectAccountError(FaultyArchiveStorage.diskFull.code) { try await way.signIn(store, authority) }
        #expect(authority.revoked == ["access-2"])
        #expect(await store.load().account == nil)
        #expect(try await store.pendingRevocations().isEmpty)
    }

    @Test func `Shows the result in the browser before the sign-in ends`() async throws {
        let authority = SteppedAuthority()
        _ = try await Way.browser.signIn(try await store(), authority)
        #expect(authority.requests == ["response", "tokens", "user", "page: done"])
        let refusing = SteppedAuthority(tokens: { throw AuthorityError.oauthError("invalid_grant") })
        await expectAccountError(.signInRefused) {
            try await Way.browser.signIn(try await self.store(), refusing)
        }
        #expect(Array(refusing.requests.prefix(3)) == ["response", "tokens", "page: failed"])
    }
}
