import AccountCrypto
import Testing

@testable import AccountKit

struct PassphraseKeyTests {
    @Test func `Creates passphrase keys with the default cost`() async throws {
        let source = PassphraseKey { _ in Secret("correct horse battery staple") }
        #expect(try await source.makeKey().cost == .moderate)
    }
}
