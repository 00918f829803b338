import Testing

@testable import AccountCrypto

struct SodiumTests {
    @Test func `Computes BLAKE2b hashes as in RFC 7693, Appendix A`() {
        let expected = [UInt8](
            hex: """
                ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1
                7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923
                """)
        #expect(Sodium.hash(Array("abc".utf8), count: 64) == expected)
    }

    @Test func `Computes a short hash that is not a prefix of a longer hash`() {
        #expect(Sodium.hash([1, 2, 3], count: 32).count == 32)
        #expect(Sodium.hash([1, 2, 3], count: 32) != Array(Sodium.hash([1, 2, 3], count: 64).prefix(32)))
    }

    @Test(arguments: [0, 1, 16, 4096])
    func `Returns the requested number of random bytes`(count: Int) {
        #expect(Sodium.randomBytes(count: count).count == count)
    }

    @Test func `Returns different random bytes each time`() {
        #expect(Sodium.randomBytes(count: 16) != Sodium.randomBytes(count: 16))
    }

    @Test(
        arguments: [
            ([], [], true), ([1, 2], [1, 2], true), ([1, 2], [1, 3], false), ([1, 2], [3, 2], false),
            ([1, 2], [1], false),
            ([], [0], false),
        ] as [([UInt8], [UInt8], Bool)])
    func `Compares byte sequences as equal only if every byte matches`(left: [UInt8], right: [UInt8], isEqual: Bool) {
        #expect(Sodium.isEqual(left, right) == isEqual)
    }
}
