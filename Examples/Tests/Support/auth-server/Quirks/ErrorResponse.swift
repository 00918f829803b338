import HTTPTypes
import Hummingbird

/// An error as a service reports it.
struct ErrorResponse: Sendable {
    var status: HTTPResponse.Status
    /// The value of the `WWW-Authenticate` field.
    var challenge: String?
    var body: JSONObject?
}

extension ErrorResponse {
    /// The response in JSON.
    var response: Response {
        get throws {
            var headers = HTTPFields.neverStored
            headers[.wwwAuthenticate] = challenge
            guard let body else { return Response(status: status, headers: headers) }
            return try .json(body, status: status, headers: headers)
        }
    }
}
