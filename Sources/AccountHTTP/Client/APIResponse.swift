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
    private let origin: String

    init(_ response: ServiceResponse, from origin: String, hiding secrets: [Secret]) {
        head = response.head
        body = Data(response.body)
        self.origin = origin
        if let detail = Self.interception(in: response, of: origin) {
            failure = AccountError(request: .intercepted(detail), to: origin)
            return
        }
        guard head.status.kind != .successful else {
            failure = nil
            return
        }
        let words = Self.words(in: response, ServerText(secrets: secrets)).map { ": \($0)" } ?? ""
        failure = AccountError(
            .init(status: head.status.code), "\(origin) responded with status \(head.status.code)\(words)")
    }

    /// Decodes the body from JSON.
    ///
    /// - Throws: An `AccountError` that names the API. `serviceUnavailable` if another server responded, such as a
    ///   captive portal: with a web page, a redirect to another host, or status 511. If the status is not from 200 to 299,
    ///   the error contains the status and the explanation of the service, and its code is `serviceUnavailable` for 408,
    ///   425, 429 and 5xx, and `requestRefused` for any other status. `requestRefused` with the place in the JSON if the
    ///   value has another form.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        if let failure { throw failure }
        do {
            return try JSONDecoder().decode(type, from: body)
        } catch {
            // The text of the decoder's error may repeat values of the response, so it is not the cause.
            throw AccountError(
                .requestRefused,
                "the response from \(origin) has an unexpected form (\(error.reason ?? "it is not the expected JSON"))")
        }
    }

    /// Returns how another server has responded instead of the API; `nil` if the API may have responded. A gateway of the
    /// API responds to failures (5xx) with web pages, too.
    private static func interception(in response: ServiceResponse, of origin: String) -> String? {
        switch response.status {
        case 511: return "the network requires its own sign-in (511)"
        case 300...399:
            // The target may have any scheme and form: AccountKit does not follow it.
            guard let target = response.head.headerFields[.location].flatMap({ URL(string: $0)?.host() }),
                target.lowercased() != URL(string: origin)?.host()?.lowercased()
            else { return nil }
            return "\(response.status), a redirect to another host"
        case 500...599: return nil
        default: return response.isWebPage ? "\(response.status) with a web page instead of JSON" : nil
        }
    }

    /// Returns the explanation in an error response, as one line that is safe to print to a terminal.
    private static func words(in response: ServiceResponse, _ text: ServerText) -> String? {
        guard !response.isMarkup, !response.isCompressed else { return nil }
        guard let object = JSONValue.object(from: response.body) else {
            return response.mediaType == "text/plain" ? text.shown(String(decoding: response.body, as: UTF8.self)) : nil
        }
        return ServiceExplanation.words(in: object, text)
    }
}
