/// What a token may be used for: names in the order in which they were asked for.
///
/// Source: RFC 6749, section 3.3.
struct Scope: Equatable, Sendable {
    /// The names that this server knows when it follows the standards.
    static let all = Scope(names: ["openid", "profile", "email", "phone", "groups", "offline_access"])

    let names: [String]

    init(names: [String]) {
        self.names = names
    }

    /// - Parameters:
    ///   - text: names separated by spaces.
    ///   - known: the names that may occur.
    /// - Returns: `nil` when a name is not known, or when there is none.
    init?(_ text: String, of known: Scope = .all) {
        var names: [String] = []
        for name in text.split(separator: " ").map(String.init) where !names.contains(name) {
            names.append(name)
        }
        guard !names.isEmpty, names.allSatisfy(known.names.contains) else { return nil }
        self.names = names
    }

    /// The names separated by spaces.
    var text: String { names.joined(separator: " ") }

    func contains(_ name: String) -> Bool { names.contains(name) }

    func isSubset(of other: Scope) -> Bool { names.allSatisfy(other.names.contains) }
}

extension Scope: Codable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        names = try container.decode(String.self).split(separator: " ").map(String.init)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}
