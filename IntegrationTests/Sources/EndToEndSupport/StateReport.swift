import Foundation

/// The JSON document of a state or an error.
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
    /// The document on standard output, which must be a single JSON document on one line.
    func document<Document: Decodable>(_ type: Document.Type = StateReport.self) throws -> Document {
        guard output.hasSuffix("}\n"), output.dropLast().allSatisfy({ !$0.isNewline }) else { throw Unexpected(self) }
        return try JSONDecoder().decode(type, from: Data(output.utf8))
    }
}
