import Subprocess
import Testing

@testable import AccountCommands

/// Needs the program `qrencode`.
struct QRCodeSystemTests {
    @Test func `Encodes the address and passes it on standard input only`() async throws {
        let address = "https://example.com/device?user_code=WDJB-MJHT"
        let code = try #require(await QRCode(of: address, hiding: []))

        let expected = try await run(
            .name("qrencode"), arguments: ["--type=UTF8", "--margin=2", "--", address],
            output: .string(limit: 65_536), error: .discarded)
        #expect(code.text == expected.standardOutput)
        #expect(QRCode.arguments.allSatisfy { !$0.contains("example") })
    }
}
