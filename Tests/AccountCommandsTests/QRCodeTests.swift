import Testing

@testable import AccountCommands

@Suite struct QRCodeTests {
    @Test(arguments: [
        "https://example.com/device?user_code=A", "http://192.168.1.7:8080/device", "https://user@example.com",
        "https://127.example.com", "https://[2001:db8::1]/device", "https://localhost.example.com",
    ])
    func `Recognizes a public URL as suitable for other devices`(address: String) {
        #expect(QRCode.isForOtherDevices(address))
    }

    @Test(arguments: [
        "http://localhost:8400/device", "http://LOCALHOST", "http://localhost./x", "http://app.localhost/",
        "http://127.0.0.1",
        "http://127.1.2.3:80/x", "http://[::1]:80/", "http://[::ffff:127.0.0.1]/", "http://0.0.0.0:80",
        "http://user@127.0.0.1/", "http://localhost?x=1", "not an address", "",
    ])
    func `Recognizes a loopback or invalid URL as unsuitable for other devices`(address: String) {
        #expect(!QRCode.isForOtherDevices(address))
    }

    @Test func `Shows a QR code only if it fits the terminal`() {
        let code = QRCode(text: String(repeating: "█▀▄ █▀▄ \n", count: 6))
        #expect(code.fits(in: TerminalSize(columns: 8, rows: 8)))
        #expect(!code.fits(in: TerminalSize(columns: 7, rows: 8)))
        #expect(!code.fits(in: TerminalSize(columns: 8, rows: 7)))
    }
}
