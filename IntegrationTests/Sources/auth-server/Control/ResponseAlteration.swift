/// A lasting change to the members of successful responses. An empty alteration changes nothing.
struct ResponseAlteration: Decodable, Equatable, Sendable {
    /// Members to omit.
    var omit: [String] = []
    /// Members to add or replace after the omission.
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

    func applied(to response: JSONObject) -> JSONObject {
        response.filter { !omit.contains($0.key) }.merging(set) { _, new in new }
    }
}
