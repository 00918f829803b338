/// What a token may be used for: names in the order in which they were asked for.
///
/// Source: RFC 6749, section 3.3.
struct Scope: Equatable, Sendable {
    /// Everything this server knows; also what a client gets that does not ask for anything in particular.
    static let all = Scope(names: ["openid", "profile", "email", "phone", "groups", "offline_access"])

    let names: [String]

    private init(names: [String]) {
        self.names = names
    }

    /// - Parameter text: names separated by spaces.
    /// - Returns: `nil` when a name is not known to this server, or when there is none.
    init?(_ text: String) {
        var names: [String] = []
        for name in text.split(separator: " ").map(String.init) where !names.contains(name) {
            names.append(name)
        }
        guard !names.isEmpty, names.allSatisfy(Self.all.names.contains) else { return nil }
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
        guard let scope = Scope(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "unknown scope")
        }
        self = scope
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}
