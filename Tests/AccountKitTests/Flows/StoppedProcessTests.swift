@testable import AccountKit
import AccountTesting
import Synchronization
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A process that is stopped after checking the lease and before sending the first byte of the refresh token.
struct StoppedProcessTests {
    private let clock = ManualClock()
    private let memory = InMemoryArchiveStorage()

    /// A service with prepared requests. Records the events.
    private final class Service: ServiceAuthority {
        var issuer: String? { nil }

        private struct State {
            var events: [String] = []
            var failure: AuthorityError?
        }

        private let state = Mutex(State())
        private let onEvent: @Sendable (String) async throws -> Void

        init(failure: AuthorityError? = nil, onEvent: @escaping @Sendable (String) async throws -> Void = { _ in }) {
            self.onEvent = onEvent
            state.withLock { $0.failure = failure }
        }

        var events: [String] { state.withLock { $0.events } }

        fileprivate func note(_ event: String) async throws {
            state.withLock { $0.events.append(event) }
            try await onEvent(event)
        }

        func prepare(_ request: TokenRequest, of account: Account) async throws -> any PreparedExchange {
            try await note("prepare")
            if let failure = state.withLock({ $0.failure }) { throw failure }
            return Exchange(service: self)
        }

        func verify(_ account: Account) async throws -> Identity { Identity(id: account.id) }
        func isAuthority(of account: Account) -> Bool { true }
        func tokenDerivation(for target: TokenTarget, of account: Account) async throws -> TokenDerivation { .refresh }

        func exchangeToken(
            for target: TokenTarget, of account: Account, by derivation: TokenDerivation
        ) async throws -> Credentials {
            Fixture.newTokens
        }

        private struct Exchange: PreparedExchange {
            let service: Service

            func send(if mayBeSent: @escaping @Sendable () -> Bool) async throws -> Credentials {
                guard mayBeSent() else { throw AuthorityError.leaseLost }
                try await service.note("send")
                return Fixture.newTokens
            }

            func abandon() {}
        }
    }

    private func store(_ storage: any ArchiveStorage) async throws -> AccountStore {
        try await AccountStore.inMemory(signedIn: .fresh(at: clock.now), clock: clock, storage: storage)
    }

    @Test func `Connects before recording a refresh intent, then sends the token`() async throws {
        let recorded = Mutex<[Bool]>([])
        let memory = memory
        let service = Service { _ in
            let hasRecord = try await memory.read(.refreshRecord) != nil
            recorded.withLock { $0.append(hasRecord) }
        }
        try await store(memory).refresh(with: service)
        #expect(service.events == ["prepare", "send"])
        #expect(recorded.withLock { $0 } == [false, true])
    }

    @Test func `Sends no refresh token if the lease expired before the first byte`() async throws {
        let storage = HookedStorage(
            base: memory, onSending: { _ in true }, onFirstByte: { duration in duration < .seconds(60) })
        let store = try await store(storage)
        let service = Service()
        await expectAccountError(.busy) { try await store.refresh(with: service) }
        let target = try TokenTarget(scopes: ["read"])
        await expectAccountError(.busy) {
            try await store.accessToken(for: target, timeout: nil, with: service)
        }
        #expect(service.events == ["prepare", "prepare"])
        // An authority that sends its requests in one step gets no request.
        let scripted = ScriptedAuthority(clock: clock)
        await expectAccountError(.busy) { try await store.refresh(with: scripted) }
        #expect(scripted.requests.isEmpty)
        #expect(store.account?.credentials.refreshToken == Secret("refresh-1"))
        #expect(try await store.unfinishedRefresh() == nil)
        #expect(await store.refreshPause() == nil)
    }

    @Test func `Keeps the record of an earlier refresh if the lease is lost`() async throws {
        let isHeld = Mutex(true)
        let storage = HookedStorage(
            base: memory, onSending: { _ in true }, onFirstByte: { _ in isHeld.withLock { $0 } })
        let store = try await store(storage)
        let lost = ScriptedAuthority(refresh: [.refuse(.noResponse(.timeout))], clock: clock)
        await expectAccountError(.serviceUnavailable) { try await store.refresh(with: lost) }
        let earlier = try #require(try await store.unfinishedRefresh())
        clock.advance(by: .seconds(300))
        isHeld.withLock { $0 = false }
        let service = Service()
        await expectAccountError(.busy) { try await store.refresh(with: service) }
        #expect(service.events == ["prepare"])
        #expect(try await store.unfinishedRefresh() == earlier)
    }

    @Test func `Leaves no record of a spent token after a failed connection`() async throws {
        let store = try await store(memory)
        let service = Service(failure: .notSent(.noResponse(.refused)))
        await expectAccountError(.serviceUnavailable) { try await store.refresh(with: service) }
        #expect(service.events == ["prepare"])
        #expect(try await store.unfinishedRefresh() == nil)
        #expect(await store.refreshPause() != nil)
    }

    @Test func `Keeps the record of an earlier refresh after a failed connection`() async throws {
        let store = try await store(memory)
        let lost = ScriptedAuthority(refresh: [.refuse(.noResponse(.timeout))], clock: clock)
        await expectAccountError(.serviceUnavailable) { try await store.refresh(with: lost) }
        let earlier = try #require(try await store.unfinishedRefresh())
        clock.advance(by: .seconds(300))
        let service = Service(failure: .notSent(.noResponse(.refused)))
        await expectAccountError(.serviceUnavailable) { try await store.refresh(with: service) }
        #expect(try await store.unfinishedRefresh() == earlier)
    }
}
