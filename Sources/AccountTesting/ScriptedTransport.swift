public import AccountKit
public import HTTPTypes
import Synchronization

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// An API with scripted responses, which records its requests and uses no network.
///
/// ```swift
/// let transport = ScriptedTransport([.expiredToken, .json(#"[{"id": 1}]"#)])
/// let api = try AuthenticatedClient(
///     origin: "https://api.example.com", store: store, authority: ScriptedAuthority(), transport: transport.send)
/// ```
public final class ScriptedTransport: Sendable {
    /// A response from the API.
    public enum Response: Sendable {
        /// A complete response.
        case response(HTTPResponse, Data)

        /// No response, because of this error.
        case refuse(AuthorityError)

        /// A response with a JSON body.
        public static func json(_ text: String, status: HTTPResponse.Status = .ok) -> Response {
            .response(
                HTTPResponse(status: status, headerFields: [.contentType: "application/json"]), Data(text.utf8))
        }

        /// A response without a body.
        public static func status(_ status: HTTPResponse.Status) -> Response {
            .response(HTTPResponse(status: status), Data())
        }

        /// A 401 response with the challenge for an invalid token (RFC 6750, section 3.1).
        public static var expiredToken: Response {
            let head = HTTPResponse(
                status: .unauthorized, headerFields: [.wwwAuthenticate: #"Bearer error="invalid_token""#])
            return .response(head, Data())
        }

        /// No response, because the service is unreachable.
        public static var offline: Response { .refuse(.noResponse(.unreachable)) }
    }

    /// A request, with the token in its `Authorization` field.
    public struct Request: Sendable {
        /// The method, URL and header fields.
        public let head: HTTPRequest

        /// The request body.
        public let body: Data?
    }

    private let state: Mutex<(responses: [Response], requests: [Request])>

    /// Creates an API with a list of responses. The last response of the list repeats. If the list is empty, the
    /// response to each request is 204 (No Content).
    public init(_ responses: [Response] = []) {
        state = Mutex((responses.isEmpty ? [.status(.noContent)] : responses, []))
    }

    /// The requests, in order.
    public var requests: [Request] { state.withLock { $0.requests } }

    /// Records a request, and returns the next response. Pass this method as the parameter `transport` of
    /// `AuthenticatedClient`.
    ///
    /// - Throws: The `AuthorityError` of the script.
    public func send(_ request: HTTPRequest, body: Data?) async throws -> (head: HTTPResponse, body: Data) {
        let response = state.withLock { state in
            state.requests.append(Request(head: request, body: body))
            return state.responses.count > 1 ? state.responses.removeFirst() : state.responses[0]
        }
        switch response {
        case .response(let head, let body): return (head, body)
        case .refuse(let failure): throw failure
        }
    }
}
