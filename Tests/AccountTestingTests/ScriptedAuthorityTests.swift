import AccountKit
import AccountTesting
import Testing

struct ScriptedAuthorityTests {
    private let clock = ManualClock()
    private var account: Account { .fresh(at: clock.now) }

    @Test func `Returns scripted responses in order, and repeats the last response`() async throws {
        let authority = ScriptedAuthority(
            verify: [.refuse(.unauthorized), .identity(Identity(id: "2")), .accept], clock: clock)
        await #expect(throws: AuthorityError.unauthorized) { try await authority.verify(account) }
        #expect(try await authority.verify(account) == Identity(id: "2"))
        for _ in 0..<3 { #expect(try await authority.verify(account).id == account.id) }
        #expect(authority.requests == [.verify, .verify, .verify, .verify, .verify])
    }

    @Test func `Accepts every request without a script`() async throws {
        let authority = ScriptedAuthority(clock: clock)
        #expect(try await authority.verify(account).id == account.id)
        #expect(try await authority.refresh(account).accessToken == Secret("access-2"))
        #expect(try await authority.refresh(account).accessToken == Secret("access-3"))
        #expect(try await authority.signIn(username: "bob", password: Secret("")).username == "bob")
        #expect(try await authority.signIn(token: Secret("")).username == "alice")
        #expect(try await authority.updateProfile(of: account).id == account.id)
        #expect(try await authority.revoke(account) == .done)
        #expect(authority.requests == [.verify, .refresh, .refresh, .signIn, .signIn, .updateProfile, .revoke])
    }

    @Test func `Allows a test to change and remove a script`() async throws {
        let authority = ScriptedAuthority(clock: clock)
        authority.respond(to: .revoke, with: [.refuse(.noResponse(.timeout))])
        await #expect(throws: AuthorityError.noResponse(.timeout)) { try await authority.revoke(account) }
        authority.respond(to: .revoke, with: [])
        #expect(try await authority.revoke(account) == .done)
    }

    @Test func `Returns a hanging response after its release unless cancelled`() async throws {
        let authority = ScriptedAuthority(verify: [.hang], clock: clock)
        let account = account
        let cancelled = Task { try await authority.verify(account) }
        await authority.waitForRequest(.verify)
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        let released = Task { try await authority.verify(account) }
        authority.release()
        #expect(try await released.value.id == account.id)
        await authority.waitForRequest(.verify)
    }
}
