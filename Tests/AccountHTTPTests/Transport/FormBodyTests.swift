import AccountKit
import Testing

@testable import AccountHTTP

@Suite("Form bodies")
struct FormBodyTests {
    @Test(
        "Encodes the values of a form body",
        arguments: [
            ("", ""), ("abcXYZ019", "abcXYZ019"), ("*-._", "*-._"), ("a b", "a+b"), ("a+b", "a%2Bb"),
            ("a&b=c%", "a%26b%3Dc%25"), ("~/!'()", "%7E%2F%21%27%28%29"), ("ü€👋", "%C3%BC%E2%82%AC%F0%9F%91%8B"),
            ("\r\n\u{0}", "%0D%0A%00"),
        ])
    func encoding(_ value: String, _ encoded: String) {
        var plain = FormBody()
        plain.append("k", value)
        #expect(String(decoding: plain.bytes, as: UTF8.self) == "k=" + encoded)

        var secret = FormBody()
        secret.append("k", Secret(value))
        #expect(secret.bytes == plain.bytes)
        #expect(secret.secrets == [Secret(value)])
        #expect(plain.secrets.isEmpty)
    }

    @Test("Keeps the order of form fields and encodes their names")
    func order() {
        var form = FormBody()
        form.append("grant_type", "password")
        form.append("a b", Secret("c&d"))
        form.append("e", "")
        #expect(String(decoding: form.bytes, as: UTF8.self) == "grant_type=password&a+b=c%26d&e=")
    }
}
