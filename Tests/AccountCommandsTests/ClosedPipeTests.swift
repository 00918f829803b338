import AccountKit
import Foundation
import Testing

@testable import AccountCommands

/// SIGPIPE ends a tool silently if the reader of its output wants no more. Any other output that fails is reported.
struct ClosedPipeTests {
    @Test func `Recognizes a closed pipe as an error or its cause`() {
        #expect(POSIXError(.EPIPE).isClosedPipe)
        #expect(AccountError(.inaccessible, "the result could not be written", cause: POSIXError(.EPIPE)).isClosedPipe)
        let others: [any Error] = [
            POSIXError(.ENOSPC), AccountError(.inaccessible, "full", cause: POSIXError(.ENOSPC)),
            AccountError(.serviceUnavailable, "offline"), CancellationError(),
        ]
        for error in others { #expect(!error.isClosedPipe, "\(error)") }
    }
}
