import AccountKit
import Testing

@testable import AccountHTTP

@Suite("Proof keys")
struct PKCETests {
    @Test("The challenge of RFC 7636, appendix B")
    func vector() {
        let key = PKCE(verifier: Secret("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"))
        #expect(key.challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
    }

    @Test("A verifier has 32 random bytes: 43 characters that need no encoding, never the same")
    func random() {
        let verifiers = (0..<100).map { _ in PKCE.random().verifier.reveal() }
        #expect(Set(verifiers).count == 100)
        #expect(
            verifiers.allSatisfy { verifier in
                verifier.utf8.count == 43
                    && verifier.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0)) }
            })
    }

    @Test(
        "Base64 for addresses has no padding",
        arguments: [
            ([], ""), ([0xFB], "-w"), ([0xFF, 0xEF], "_-8"), ([0x14, 0xFB, 0x9C], "FPuc"), ([0, 0, 0, 0], "AAAAAA"),
        ] as [([UInt8], String)])
    func base64(_ bytes: [UInt8], _ expected: String) {
        #expect(Base64URL.encoded(bytes) == expected)
    }
}
