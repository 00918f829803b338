import AccountKit
import AccountSupport
public import HTTPTypes

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The response from an API.
public struct APIResponse: Sendable {
    /// The status and header fields.
    public let head: HTTPResponse

    /// The status code (RFC 9110, section 15).
    public var statusCode: Int { head.status.code }

    /// The body, which is empty if the response has none.
    public let body: Data

    private let failure: AccountError?

    init(_ response: ServiceResponse, from origin: String, hiding secrets: [Secret]) {
        head = response.head
        body = Data(response.body)
        guard head.status.kind != .successful else {
            failure = nil
            return
        }
        let words = Self.words(in: response, ServerText(secrets: secrets)).map { ": \($0)" } ?? ""
        failure = AccountError(.requestFailed, "\(origin) responded with status \(head.status.code)\(words)")
    }

    /// Decodes the body from JSON.
    ///
    /// - Throws: If the status is not from 200 to 299, `requestFailed` with the status and the explanation of the
    ///   service; otherwise the error of the decoder.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        if let failure { throw failure }
        return try JSONDecoder().decode(type, from: body)
    }

    /// Returns the explanation in an error response, as one line that is safe to print to a terminal.
    private static func words(in response: ServiceResponse, _ text: ServerText) -> String? {
        guard !response.isMarkup, !response.isCompressed else { return nil }
        guard let object = JSONValue.object(from: response.body) else {
            return response.mediaType == "text/plain" ? text.shown(String(decoding: response.body, as: UTF8.self)) : nil
        }
        // Sources: GitHub, GitLab and others; RFC 6749, section 5.2; RFC 9457, section 3.1. Google sends an object as
        // `error`.
        let nested: JSONObject = if case .object(let members)? = object["error"] { members } else { [:] }
        let named = ["message", "error_description", "detail", "title", "error"].map { object[$0] }
        return (named + [nested["message"]]).lazy.compactMap { text.shown($0?.string) }.first
    }
}
