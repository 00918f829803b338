import HTTPTypes
import Hummingbird

/// An error in the format of a service.
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
