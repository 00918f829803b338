import AccountKit
import Testing

@testable import AccountHTTP
import AccountSupport

@Suite("Proof keys (PKCE)")
struct PKCETests {
    @Test("Computes the PKCE challenge of RFC 7636, appendix B")
    func vector() {
        let key = PKCE(verifier: Secret("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"))
        #expect(key.challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
    }

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
