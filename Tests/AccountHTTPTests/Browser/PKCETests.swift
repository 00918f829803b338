import AccountKit
import Testing

@testable import AccountHTTP
import AccountSupport

@Suite("Proof keys (PKCE)")
struct PKCETests {
    @Test("Creates a random PKCE verifier of 43 unreserved characters")
    func random() {
        let verifiers = (0..<100).map { _ in PKCE.random().verifier.reveal() }
        #expect(Set(verifiers).count == 100)
        #expect(
            verifiers.allSatisfy { verifier in
                verifier.utf8.count == 43
                    && verifier.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0)) }
            })
    }
}
