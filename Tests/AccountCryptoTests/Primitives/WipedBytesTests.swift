import AccountCrypto
import Testing

@Suite("Wiped bytes")
struct WipedBytesTests {
    @Test("Keeps any number of wiped bytes in order")
    func contents() {
        var bytes = WipedBytes()
        #expect(bytes.isEmpty)
        for number in 0..<1000 { bytes.append(UInt8(truncatingIfNeeded: number)) }
        bytes.append(contentsOf: [1, 2, 3])
        #expect(bytes.count == 1003)
        #expect(Array(bytes) == (0..<1000).map { UInt8(truncatingIfNeeded: $0) } + [1, 2, 3])
        #expect(bytes[1000...].elementsEqual([1, 2, 3]))
        #expect(bytes == WipedBytes(Array(bytes)))
        #expect(bytes != WipedBytes([1]))
        #expect(WipedBytes() == WipedBytes([]))
    }

    @Test("Changes a copy of wiped bytes independently of the original")
    func values() {
        var original = WipedBytes([1, 2])
        var copy = original
        original.append(3)
        copy.append(4)
        #expect(original.elementsEqual([1, 2, 3]))
        #expect(copy.elementsEqual([1, 2, 4]))
    }
}
