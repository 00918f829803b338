import AccountKit
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// No message to a user contains Swift's description of a type or case.
struct ErrorUserTextTests {
    private enum Plain: Error { case someCase(Int) }

    private struct Described: Error, CustomStringConvertible { var description: String { "the disk is full" } }

    private static let errors: [(error: any Error, text: String)] = [
        (AccountError(.busy, "the account is busy", hint: "try again"), "the account is busy: try again"),
        (AuthorityError.noResponse(.timeout), "offline: the service did not respond in time"),
        (AuthorityError.notSent(.noResponse(.refused)), "offline: the connection to the service was refused"),
        (AuthorityError.unavailable(status: 503, retryAfter: nil), "server error: 503"),
        (AuthorityError.oauthError("invalid_scope"), "not set up at the service: invalid_scope"),
        (AuthorityError.refused(status: 404), "unexpected response: 404 from the token endpoint"),
        (AuthorityError.otherUser(id: "2"), "the token belongs to another user"), (CancellationError(), "cancelled"),
        (
            DecodingError.valueNotFound(Int.self, .init(codingPath: [], debugDescription: "")),
            "the whole value is null"
        ),
        (SystemCallError("open", "/a", errno: 2), "/a: No such file or directory"), (Described(), "the disk is full"),
        (Plain.someCase(1), "an unexpected error of the type Plain"),
    ]

    @Test(arguments: errors.indices) func `Describes an error in words`(index: Int) {
        let (error, text) = Self.errors[index]
        #expect(error.userText == text)
        // The cause of another error, too, unless it has no words.
        let outer = AccountError(.inaccessible, "the file cannot be read", cause: error)
        #expect(outer.description == "the file cannot be read" + (error is Plain ? "" : " (\(text))"))
    }
}
