/// The behavior of the gists API, which tests can change.
struct GistSettings: Codable, Equatable, Sendable {
    /// Whether a `401` has a challenge (RFC 6750). GitHub's does not.
    var challenges = false
    /// Whether the `ETag` depends on the token, as at GitHub.
    var etagsByToken = false
    /// Whether validators are weak (RFC 9110, section 8.8.1), as GitHub's are.
    var weakETags = true
    /// The number of requests per user and hour.
    var rateLimit = 5000
    /// The minimum number of seconds between the changes of a user. A change that follows sooner is rejected. GitHub
    /// requests one second.
    ///
    /// Source: https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api
    var changeInterval = 0.0
    /// The maximum number of bytes of a file in a gist. The whole file is at its `raw_url`.
    var contentLimit = 1_000_000

    init() {}

    init(from decoder: any Decoder) throws {
        try decoder.refuseKeys(otherThan: CodingKeys.allCases.map(\.rawValue))
        let container = try decoder.container(keyedBy: CodingKeys.self)
        challenges = try container.decodeIfPresent(Bool.self, forKey: .challenges) ?? challenges
        etagsByToken = try container.decodeIfPresent(Bool.self, forKey: .etagsByToken) ?? etagsByToken
        weakETags = try container.decodeIfPresent(Bool.self, forKey: .weakETags) ?? weakETags
        rateLimit = try container.decodeIfPresent(Int.self, forKey: .rateLimit) ?? rateLimit
        changeInterval = try container.decodeIfPresent(Double.self, forKey: .changeInterval) ?? changeInterval
        contentLimit = try container.decodeIfPresent(Int.self, forKey: .contentLimit) ?? contentLimit
    }

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case challenges
        case etagsByToken
        case weakETags
        case rateLimit
        case changeInterval
        case contentLimit
    }
}
