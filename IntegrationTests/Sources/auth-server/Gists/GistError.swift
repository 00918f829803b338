import HTTPTypes
import Hummingbird

/// An error of the gists API in GitHub's format: JSON with a message, and no challenge unless the settings enable it.
///
/// Source: https://docs.github.com/en/rest/using-the-rest-api/troubleshooting-the-rest-api
struct GistError: Error, Equatable {
    let status: HTTPResponse.Status
    let message: String
    /// The invalid member of the body, and the problem with it.
    var problem: Problem?
    /// The number of seconds after which the client may try again.
    var retryAfter: Int?

    struct Problem: Equatable {
        let code: String
        let field: String
    }

    static let badCredentials = GistError(status: .unauthorized, message: "Bad credentials")
    static let requiresAuthentication = GistError(status: .unauthorized, message: "Requires authentication")
    static let notFound = GistError(status: .notFound, message: "Not Found")
    static let malformed = GistError(status: .badRequest, message: "Problems parsing JSON")
    static let notAnObject = GistError(status: .badRequest, message: "Body should be a JSON object")
    static let nothingToChange = missing("files")

    static func missing(_ field: String) -> GistError { validation("missing_field", field) }
    static func invalid(_ field: String) -> GistError { validation("invalid", field) }

    /// The limit of requests per hour is exceeded.
    static func rateLimited(_ user: String) -> GistError {
        GistError(status: .forbidden, message: "API rate limit exceeded for user \(user).")
    }

    /// The client makes changes too quickly.
    static func secondaryRateLimited(retryAfter: Int) -> GistError {
        GistError(
            status: .forbidden,
            message: "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
            retryAfter: retryAfter
        )
    }

    private static func validation(_ code: String, _ field: String) -> GistError {
        GistError(
            status: .unprocessableContent,
            message: "Validation Failed",
            problem: Problem(code: code, field: field)
        )
    }
}

extension GistError: HTTPResponseError {
    /// The address of the documentation in error responses.
    static let documentation = "https://docs.github.com/rest/gists/gists"

    var body: JSONObject {
        var body: JSONObject = [
            "message": .string(message),
            "documentation_url": .string(Self.documentation),
            "status": .string(String(status.code)),
        ]
        if let problem {
            body["errors"] = [["resource": "Gist", "code": .string(problem.code), "field": .string(problem.field)]]
        }
        return body
    }

    func response(from request: Request, context: some RequestContext) throws -> Response {
        var headers = HTTPFields()
        headers[.retryAfter] = retryAfter.map(String.init)
        return try .json(body, status: status, headers: headers)
    }
}
