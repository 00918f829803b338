import Foundation

/// The JSON document of a state, or of an error, as a script sees it.
struct StateReport: Decodable, Equatable, Sendable {
    struct Account: Decodable, Equatable, Sendable {
        let id: String
        let username: String?
        let issuer: String?
        let profile: [String: JSON]?
    }

    struct Failure: Decodable, Equatable, Sendable {
        let code: String
        let message: String
    }

    let state: String?
    let session: String?
    let source: String?
    let reason: String?
    let message: String?
    let retryAfter: Int?
    let account: Account?
    let verifiedAt: String?
    let expiresAt: String?
    let endedAt: String?
    let endedBy: String?
    let archive: String?
    let unfinishedRefreshAt: String?
    let error: Failure?
}

extension Outcome {
    /// Standard output, which must be one JSON document on one line and nothing else.
    func document<Document: Decodable>(_ type: Document.Type = StateReport.self) throws -> Document {
        guard output.hasSuffix("}\n"), output.dropLast().allSatisfy({ !$0.isNewline }) else { throw Unexpected(self) }
        return try JSONDecoder().decode(type, from: Data(output.utf8))
    }
}
