import AccountKit
import AccountTesting
import Logging
import Testing

struct LeakDetectionTests {
    private let secret = Secret("canary-0123456789")

    @Test func `Accepts text and log lines without the secret`() async {
        expectNoLeak(of: [secret], in: "\(secret as Any), canary, 0123456789")
        await expectNoLeak(of: [secret]) { logger in
            logger.trace("signed in", metadata: ["token": "\(secret as Any)"])
        }
    }

    @Test func `Detects a secret or its beginning in text, log lines and metadata`() async {
        for text in ["Bearer canary-0123456789", "canary-0…"] {
            withKnownIssue { expectNoLeak(of: [secret], in: text) }
            await withKnownIssue { await expectNoLeak(of: [secret]) { $0.trace("\(text)") } }
            await withKnownIssue { await expectNoLeak(of: [secret]) { $0.trace("", metadata: ["token": "\(text)"]) } }
        }
    }
}
