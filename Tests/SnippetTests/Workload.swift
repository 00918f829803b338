import AccountHTTP
import AccountKit
import AccountTesting
import Testing

/// The examples of the article about workload identity.
enum Workload {
    static func token(_ store: AccountStore, _ issuer: String, _ workload: WorkloadSource) async throws -> Secret {
        // snippet.authority
        let authority = try OAuthAuthority(issuer: issuer, machine: .workload(workload, clientID: "deploy"))
        try await store.signIn { try await authority.signInAsClient() }
        let token = try await store.accessToken(with: authority)
        // snippet.end
        return token
    }
}

struct WorkloadTests {
    @Test func `A job without an assertion is not signed in`() async throws {
        let store = try await AccountStore.inMemory(signedIn: nil)
        let endpoints = "http://127.0.0.1:1"
        await #expect(throws: (any Error).self) {
            try await Workload.token(store, endpoints, .environment("ACCOUNTKIT_NO_SUCH_VARIABLE"))
        }
        #expect(await store.load().account == nil)
    }
}
