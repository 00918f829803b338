import Testing

@testable import AccountCommands

@Suite struct QRCodeTests {
    @Test(arguments: [
        ("https://example.com/device?user_code=A", true), ("http://192.168.1.7:8080/device", true),
        ("https://user@example.com", true), ("https://[2001:db8::1]/device", true),
        ("https://localhost.example.com", true), ("http://localhost:8400/device", false), ("http://LOCALHOST", false),
        ("http://localhost./x", false), ("http://app.localhost/", false), ("http://127.1.2.3:80/x", false),
        ("http://[::1]:80/", false), ("http://[::ffff:127.0.0.1]/", false), ("http://0.0.0.0:80", false),
        ("http://user@127.0.0.1/", false), ("http://localhost?x=1", false), ("not an address", false), ("", false),
    ])
    func `Recognizes a public URL as suitable for other devices`(address: String, isSuitable: Bool) {
        #expect(QRCode.isForOtherDevices(address) == isSuitable)
    }

    @Test func `Shows a QR code only if it fits the terminal`() {
        let code = QRCode(text: String(repeating: "█▀▄ █▀▄ \n", count: 6))
        #expect(code.fits(in: TerminalSize(columns: 8, rows: 8)))
        #expect(!code.fits(in: TerminalSize(columns: 7, rows: 8)))
        #expect(!code.fits(in: TerminalSize(columns: 8, rows: 7)))
    }
}
