import AccountSupport
import Testing

struct TextEncodingTests {
    @Test func `Formats bytes as hexadecimal digits`() {
        #expect([0x00, 0x0A, 0x9F, 0xFF].hexadecimal == "000a9fff")
        #expect([UInt8]().hexadecimal == "")
    }

    @Test(
        arguments: [
            ([], ""), ([0xFB], "-w"), ([0xFF, 0xEF], "_-8"), ([0x14, 0xFB, 0x9C], "FPuc"), ([0, 0, 0, 0], "AAAAAA"),
        ] as [([UInt8], String)])
    func `Encodes and decodes Base64URL`(bytes: [UInt8], text: String) {
        #expect(Base64URL.encode(bytes) == text)
        #expect(Base64URL.decode(text.utf8).map { [UInt8]($0) } == bytes)
    }

    @Test(arguments: ["+w", "/w", "-w==", "a", "é"]) func `Rejects text that is not Base64URL`(text: String) {
        #expect(Base64URL.decode(text.utf8) == nil)
    }

    @Test func `Creates random text of 43 characters`() {
        let (one, other) = (Base64URL.random(), Base64URL.random())
        #expect(one.utf8.count == 43 && one != other)
        #expect(Base64URL.decode(one.utf8)?.count == 32)
    }

    @Test(arguments: [("a b/é", "a%20b%2F%C3%A9"), ("-._~", "-._~"), ("%", "%25"), ("", "")])
    func `Encodes and decodes percent-encoded text`(text: String, encoded: String) {
        #expect(text.percentEncoded(keeping: "-._~") == encoded)
        #expect(String(percentEncoded: encoded) == text)
    }

    @Test(arguments: ["%", "%4", "%zz", "%ff", "%C3"]) func `Rejects malformed percent-encoding`(text: String) {
        #expect(String(percentEncoded: text) == nil)
    }
}
