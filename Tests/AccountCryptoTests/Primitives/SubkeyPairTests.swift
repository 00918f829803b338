import Testing

@testable import AccountCrypto

struct SubkeyPairTests {
    /// An example from a published specification.
    private struct Example {
        let pair = SubkeyPair(bytes: Array(0x80...0x9F) + [UInt8](repeating: 0, count: 32))
        let nonce: [UInt8] = Array(0x40...0x57)
        let additionalData = [UInt8](hex: "50515253c0c1c2c3c4c5c6c7")
        let plaintext = Array(
            ("Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen "
                + "would be it.").utf8)
        let ciphertext = [UInt8](
            hex: """
                bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb
                731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54c216cb96b72e1213b452
                2f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff9
                21f9664c97637da9768812f615c68b13b52e
                c0875924c1c7987947deafd8780acf49
                """)
    }

    @Test func `Encrypts with XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03, A.3.1)`() {
        let example = Example()
        let ciphertext = example.pair.encrypt(
            GuardedBytes(copying: example.plaintext), nonce: example.nonce, additionalData: example.additionalData)
        #expect(ciphertext == example.ciphertext)
    }

    @Test func `Returns the plaintext of an encrypted message`() {
        let example = Example()
        let plaintext = example.pair.decrypt(
            example.ciphertext[...], nonce: example.nonce, additionalData: example.additionalData)
        #expect(plaintext?.copy == example.plaintext)
    }

    @Test func `Does not decrypt a changed ciphertext, nonce or additional data`() {
        let example = Example()
        for offset in example.ciphertext.indices {
            var ciphertext = example.ciphertext
            ciphertext[offset] ^= 1
            #expect(
                example.pair.decrypt(ciphertext[...], nonce: example.nonce, additionalData: example.additionalData)
                    == nil)
        }
        var nonce = example.nonce
        nonce[23] ^= 1
        #expect(
            example.pair.decrypt(example.ciphertext[...], nonce: nonce, additionalData: example.additionalData) == nil)
        #expect(
            example.pair.decrypt(
                example.ciphertext[...], nonce: example.nonce, additionalData: example.additionalData + [0]) == nil)
    }

    @Test(arguments: [0, 15, 16])
    func `Does not decrypt a ciphertext that is too short`(count: Int) {
        let example = Example()
        #expect(
            example.pair.decrypt(
                example.ciphertext[..<count], nonce: example.nonce, additionalData: example.additionalData) == nil)
    }

    // The expected bytes of the next two tests are from Python's hashlib.blake2b, which shares no code with libsodium.

    @Test func `Computes the commitment as BLAKE2b-256 keyed with the second subkey`() {
        let pair = SubkeyPair(bytes: Array(0..<64))
        let expected = [UInt8](hex: "fac48e285741da065f5df31d1ecd60d33c4d35dbf45b25b4b9b9919f62d35779")
        #expect(pair.commitment(to: Array("abc".utf8)) == expected)
    }

    @Test(arguments: [
        (
            SubkeyPair.Purpose.slot,
            """
            108050e853a849e84b53f808cbca4f5a4d2fac2a056b73acf7699cf69b863d4d
            f67149bb9658105dfba100e84f076435a0f95f46cc05083bd98a4b0626b06bad
            """
        ),
        (
            SubkeyPair.Purpose.file,
            """
            6021a4d62ade220d64ae30509e61c73a45444ca3fdb92b49996a9805977ab3d1
            3515a528a002b5581faaa73d5505a247a3b510829b71d88c2ce537a862e11c1a
            """
        ),
    ])
    func `Derives a subkey pair with personalized BLAKE2b-512`(purpose: SubkeyPair.Purpose, expected: String) {
        let derived = SubkeyPair(
            key: GuardedBytes(copying: Array(0..<32)), message: Array("message".utf8), purpose: purpose)
        let stated = SubkeyPair(bytes: [UInt8](hex: expected))
        #expect(derived.commitment(to: [1]) == stated.commitment(to: [1]))
        let plaintext = GuardedBytes(copying: [1, 2, 3])
        let nonce = [UInt8](repeating: 0, count: 24)
        #expect(
            derived.encrypt(plaintext, nonce: nonce, additionalData: [])
                == stated.encrypt(plaintext, nonce: nonce, additionalData: []))
    }
}
