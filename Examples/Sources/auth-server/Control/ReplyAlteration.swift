/// A lasting change to the members of successful replies; an empty one changes nothing.
struct ReplyAlteration: Decodable, Equatable, Sendable {
    /// Members to leave out.
    var omit: [String] = []
    /// Members to add or to replace, after others were left out.
    var set: JSONObject = [:]

    init() {}

    init(from decoder: any Decoder) throws {
        try decoder.refuseKeys(otherThan: CodingKeys.allCases.map(\.rawValue))
        let container = try decoder.container(keyedBy: CodingKeys.self)
        omit = try container.decodeIfPresent([String].self, forKey: .omit) ?? []
        set = try container.decodeIfPresent(JSONObject.self, forKey: .set) ?? [:]
    }

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case omit
        case set
    }

    func applied(to reply: JSONObject) -> JSONObject {
        reply.filter { !omit.contains($0.key) }.merging(set) { _, new in new }
    }
}
