import HTTPTypes
import Hummingbird

/// The refusal of a protected resource: a `WWW-Authenticate` field of scheme Bearer.
///
/// Source: RFC 6750, section 3. A request without a token gets a challenge without an error code, since such a request
/// is unauthenticated, but not in error.
struct BearerChallenge: Error, Equatable {
    enum Code: String {
        case invalidToken = "invalid_token"
        case insufficientScope = "insufficient_scope"
    }

    let code: Code?
    let explanation: String

    init(_ code: Code, _ explanation: String) {
        self.code = code
        self.explanation = explanation
    }

    private init() {
        code = nil
        explanation = ""
    }

    static var noToken: BearerChallenge { BearerChallenge() }

    /// The value of the `WWW-Authenticate` field.
    var fieldValue: String {
        let realm = #"Bearer realm="account""#
        guard let code else { return realm }
        return realm + #", error="\#(code.rawValue)", error_description="\#(explanation)""#
    }
}

extension BearerChallenge: HTTPResponseError {
    var status: HTTPResponse.Status { code == .insufficientScope ? .forbidden : .unauthorized }

    /// The response that the standards require.
    var standardResponse: ErrorResponse {
        let body: JSONObject? = code.map {
            ["error": .string($0.rawValue), "error_description": .string(explanation)]
        }
        return ErrorResponse(status: status, challenge: fieldValue, body: body)
    }

    func response(from request: Request, context: some RequestContext) throws -> Response {
        try standardResponse.response
    }
}

extension HTTPFields {
    /// The token of an `Authorization` field of scheme Bearer.
    ///
    /// Source: RFC 6750, section 2.1. A field with another scheme contains no token.
    var bearerToken: String? { token(of: "bearer") }

    /// The token of an `Authorization` field of a scheme, in lower case.
    func token(of scheme: String) -> String? {
        guard let value = self[.authorization] else { return nil }
        let parts = value.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == scheme else { return nil }
        return String(parts[1])
    }
}
