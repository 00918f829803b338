import HTTPTypes
import Hummingbird

/// An invalid control request.
struct ControlError: Error, HTTPResponseError {
    let message: String

    var status: HTTPResponse.Status { .badRequest }

    func response(from request: Request, context: some RequestContext) throws -> Response {
        try .json(["error": "bad_control", "message": .string(message)] as JSONObject, status: status)
    }
}

extension ControlError {
    /// Describes in one line what is wrong, and where.
    init(_ error: DecodingError) {
        switch error {
        case .dataCorrupted(let context), .typeMismatch(_, let context), .valueNotFound(_, let context):
            self.init(message: Self.text(context.debugDescription, path: context.codingPath))
        case .keyNotFound(let key, let context):
            self.init(message: Self.text("\(key.stringValue) is missing", path: context.codingPath))
        @unknown default:
            self.init(message: "the body is malformed")
        }
    }

    private static func text(_ problem: String, path: [any CodingKey]) -> String {
        let place = path.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
        return place.isEmpty ? problem : "\(place): \(problem)"
    }
}

extension Decoder {
    /// Throws if the object has unknown members, which the server would ignore.
    func refuseKeys(otherThan known: [String]) throws {
        let container = try container(keyedBy: AnyKey.self)
        let unknown = container.allKeys.filter { !known.contains($0.stringValue) }
        if let key = unknown.first {
            throw DecodingError.dataCorruptedError(forKey: key, in: container, debugDescription: "unknown member")
        }
    }
}

/// A member of an object with any name.
private struct AnyKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init?(stringValue: String) {
        self.stringValue = stringValue
    }

    init?(intValue: Int) { nil }
}
