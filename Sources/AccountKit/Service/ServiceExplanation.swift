package import AccountSupport

/// The explanation in the JSON of an error response.
package enum ServiceExplanation {
    /// The number of details in an explanation. A service may list a problem for each of many values.
    private static let maximumDetails = 5

    /// Returns the explanation as one line that is safe to print to a terminal, and not longer than 200 characters.
    /// `nil` if there is none.
    ///
    /// The message often says only that the request is not valid, and the details say why, so the line contains both,
    /// such as `Validation Failed (files: missing_field)`:
    ///
    /// | member | source |
    /// | --- | --- |
    /// | `message`, `errors`: an array of strings, or of objects with `field`, `code` and `message` | GitHub |
    /// | `message` or `errors`: an object with an array of strings for each field | GitLab, Rails |
    /// | `error_description`, `error` | RFC 6749, section 5.2 |
    /// | `detail`, `title`, `errors`: an array of objects with `detail` and `pointer` | RFC 9457, section 3 |
    /// | `invalid-params`: an array of objects with `name` and `reason` | RFC 7807, section 3 |
    /// | `error`: an object with `message` | Google |
    package static func words(in object: JSONObject, _ text: ServerText) -> String? {
        let nested = nestedError(in: object)
        let message = message(in: object, text)
        var details = [
            object["errors"], object["message"], object["detail"], object["invalid-params"], nested["errors"],
        ]
        .flatMap { self.details(in: $0) }
        .compactMap { text.shown($0) }.filter { $0 != message }
        if details.count > maximumDetails { details[maximumDetails...] = ["…"] }
        guard !details.isEmpty else { return message }
        let joined = details.joined(separator: "; ")
        return text.shown(message.map { "\($0) (\(joined))" } ?? joined) ?? message
    }

    /// Returns only the message, without the details, for a response that may contain tokens in unknown places.
    package static func message(in object: JSONObject, _ text: ServerText) -> String? {
        let named = ["message", "error_description", "detail", "title", "error"].map { object[$0] }
        return (named + [nestedError(in: object)["message"]]).lazy.compactMap { text.shown($0?.string) }.first
    }

    private static func nestedError(in object: JSONObject) -> JSONObject {
        if case .object(let members)? = object["error"] { members } else { [:] }
    }

    private static func details(in value: JSONValue?) -> [String] {
        switch value {
        case .array(let elements)?: elements.prefix(maximumDetails + 1).compactMap { detail(in: $0) }
        case .object(let fields)?:
            fields.sorted { $0.key < $1.key }.prefix(maximumDetails + 1).compactMap { field, value in
                let problems: [String] =
                    switch value {
                    case .string(let problem): [problem]
                    case .array(let elements): elements.compactMap { detail(in: $0) }
                    default: []
                    }
                return problems.isEmpty ? nil : "\(field): \(problems.joined(separator: ", "))"
            }
        default: []
        }
    }

    private static func detail(in value: JSONValue) -> String? {
        guard case .object(let members) = value else { return value.string }
        let problem = ["message", "detail", "msg", "reason", "title", "code"].lazy.compactMap { members[$0]?.string }
            .first { !$0.isEmpty }
        guard let problem else { return nil }
        let field = ["field", "pointer", "name"].lazy.compactMap { members[$0]?.string }.first { !$0.isEmpty }
        return field.map { "\($0): \(problem)" } ?? problem
    }
}
