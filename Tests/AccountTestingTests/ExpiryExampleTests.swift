import AccountKit
import AccountTesting
import Testing

@Test func keepsTheSessionWhenTheServiceIsUnreachable() async throws {
    let clock = ManualClock()
    let store = try await AccountStore.inMemory(signedIn: .expired(at: clock.now), clock: clock)
    let service = ScriptedAuthority(refresh: [.refuse(.noResponse(.timeout)), .accept], clock: clock)
    #expect(await store.checkSession(with: service).account?.username == "alice")  // offline: kept
    #expect(await store.checkSession(with: service) == store.account.map { .verified($0) })  // refreshed
}
