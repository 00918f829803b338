import AccountKit
import AccountTesting
import Logging
import Testing

struct LeakDetectionTests {
    private let secret = Secret("canary-0123456789")

    @Test func `A text or a log line without the secret is fine`() async {
        expectNoLeak(of: [secret], in: "\(secret as Any), canary, 0123456789")
        await expectNoLeak(of: [secret]) { logger in
            logger.trace("signed in", metadata: ["token": "\(secret as Any)"])
        }
    }

    @Test func `A secret in a text, in a log line or in its metadata is found, also the beginning of one`() async {
        for text in ["Bearer canary-0123456789", "canary-0…"] {
            withKnownIssue { expectNoLeak(of: [secret], in: text) }
            await withKnownIssue { await expectNoLeak(of: [secret]) { $0.trace("\(text)") } }
            await withKnownIssue { await expectNoLeak(of: [secret]) { $0.trace("", metadata: ["token": "\(text)"]) } }
        }
    }
}
