import AccountKit
import Foundation
import Testing

struct AccountErrorTests {
    private struct Portal: Error, CustomStringConvertible {
        let description = "a captive portal?"
    }

    private static let decoding = DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "canary"))

    @Test(
        arguments: [
            (nil, "m"), (Portal(), "m (a captive portal?)"), (NSError(domain: "d", code: 1), "m"),
            (decoding, "m (it is not JSON, or has a number that does not fit its field)"),
            (CocoaError(.fileReadNoSuchFile), "m (there is no such file)"),
        ] as [((any Error)?, String)])
    func `Describes a cause in words for the user`(cause: (any Error)?, description: String) {
        #expect(AccountError(.requestRefused, "m", cause: cause).description == description)
    }
}
