/// The scope of a token: names in the order of the request.
///
/// Source: RFC 6749, section 3.3.
struct Scope: Equatable, Sendable {
    /// The scope names of a server without personality.
    static let all = Scope(names: ["openid", "profile", "email", "phone", "groups", "offline_access"])

    let names: [String]

    init(names: [String]) {
        self.names = names
    }

    /// - Parameters:
    ///   - text: Names separated by spaces.
    ///   - known: The allowed names.
    /// - Returns: `nil` if a name is unknown, or if there is none.
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
