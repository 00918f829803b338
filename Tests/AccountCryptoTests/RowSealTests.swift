import Testing

@testable import AccountCrypto

struct RowSealTests {
    private static let key = GuardedBytes(copying: (0..<32).map { UInt8($0) })
    private let seal = RowSeal(key: key, owner: ["https://id.example", "u-1"])

    @Test(arguments: [0, 1, 63, 64, 65, 1000])
    func `Opens a sealed row, and shows its length only in steps of 64`(count: Int) {
        let text = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        let sealed = seal.seal(text, type: "gist", id: [1])
        #expect(seal.open(sealed, type: "gist", id: [1]) == text)
        #expect(sealed.count == 24 + (count / 64 + 1) * 64 + 16)
        #expect(sealed != seal.seal(text, type: "gist", id: [1]))
    }

    @Test func `Opens a sealed row only for its type, id, owner and key`() {
        let sealed = seal.seal([1, 2, 3], type: "gist", id: [1])
        #expect(seal.open(sealed, type: "list", id: [1]) == nil)
        #expect(seal.open(sealed, type: "gist", id: [2]) == nil)
        for owner in [["https://id.example", "u-2"], ["https://id.exampleu-1"], ["https://id.example", "u-1", ""]] {
            #expect(RowSeal(key: Self.key, owner: owner).open(sealed, type: "gist", id: [1]) == nil)
        }
        let other = RowSeal(key: .random(count: 32), owner: ["https://id.example", "u-1"])
        #expect(other.open(sealed, type: "gist", id: [1]) == nil)
    }

    @Test func `Detects a flipped bit or a missing byte in a sealed row`() {
        let sealed = seal.seal([1, 2, 3], type: "gist", id: [1])
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(seal.open(changed, type: "gist", id: [1]) == nil)
        }
        for count in sealed.indices { #expect(seal.open(sealed.prefix(count), type: "gist", id: [1]) == nil) }
        #expect(seal.open(sealed + [UInt8](repeating: 0, count: 64), type: "gist", id: [1]) == nil)
    }

    @Test func `Hashes an id to the same value only for the same type and owner`() {
        #expect(seal.keyedID("a".utf8, type: "gist") == seal.keyedID("a".utf8, type: "gist"))
        let others = [
            seal.keyedID("b".utf8, type: "gist"), seal.keyedID("a".utf8, type: "list"),
            seal.keyedID("ta".utf8, type: "gis"),
            RowSeal(key: Self.key, owner: ["u-2"]).keyedID("a".utf8, type: "gist"),
        ]
        #expect(!others.contains(seal.keyedID("a".utf8, type: "gist")))
        #expect(Set(others).count == others.count)
    }
}
