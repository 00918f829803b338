import Testing

@testable import AccountCrypto

struct KeyTextTests {
    private static let key = [UInt8](0..<32)

    private func key(_ text: String) -> [UInt8]? {
        var text = text
        return text.withUTF8 { GuardedBytes.key(fromText: UnsafeRawBufferPointer($0)) }?
            .withUnsafeBytes { Array($0) }
    }

    @Test(arguments: [
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        "000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F",
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
        " \tAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\r\n",
    ])
    func `Reads a key in each of its text forms`(text: String) {
        #expect(key(text) == Self.key)
    }

    @Test func `Reads a key in both alphabets of Base64`() {
        let ones = [UInt8](repeating: 0xFF, count: 32)
        #expect(key(String(repeating: "/", count: 42) + "8=") == ones)
        #expect(key(String(repeating: "_", count: 42) + "8=") == ones)
        #expect(key(String(repeating: "_", count: 42) + "8") == ones)
    }

    @Test(arguments: [
        "", " ", "\n", "secret", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHg==",
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8==",
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8= x",
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e", String(repeating: "0", count: 66),
        "0x0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
    ])
    func `Rejects key text in any other form`(text: String) {
        #expect(key(text) == nil)
    }
}
