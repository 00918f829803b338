import HTTPTypes
import Hummingbird

/// A refusal of the gists API, in GitHub's form: JSON with a message, and no challenge unless it is asked for.
///
/// Source: https://docs.github.com/en/rest/using-the-rest-api/troubleshooting-the-rest-api
struct GistError: Error, Equatable {
    let status: HTTPResponse.Status
    let message: String
    /// What is wrong with which member of the body.
    var problem: Problem?
    /// In how many seconds the client may try again.
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

    /// The limit of requests an hour is reached.
    static func rateLimited(_ user: String) -> GistError {
        GistError(status: .forbidden, message: "API rate limit exceeded for user \(user).")
    }

    /// Changes come too fast.
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
    /// Where the client is sent to read more.
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
