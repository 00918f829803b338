import AccountKit

/// Which sign-in another program gets the token of, at one place of the web.
struct Rule: Sendable, Equatable {
    /// Where the token may be sent to: this, and what is below it.
    var url: RuleURL

    /// The sign-in.
    var session: SessionName

    /// The user name to use with the token; `nil` leaves it to the service. With it, the rule is for programs that ask for
    /// this user, or for no certain one.
    var username: String?

    /// The folder that a program must be in, or below; `nil` is any. Absolute, and without symbolic links.
    var directory: String?

    /// What can be the user name of HTTP's Basic scheme (RFC 7617, section 2).
    static func isUsername(_ text: String) -> Bool {
        1...255 ~= text.utf8.count && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: ":") }
    }

    /// Whether both are for the same, so that one takes the other's place.
    func hasSamePurpose(as other: Rule) -> Bool {
        url == other.url && directory == other.directory && username == other.username
    }
}

extension Rule: Codable {
    private enum CodingKeys: String, CodingKey { case url, session, username, directory }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        url = try RuleURL(try container.decode(String.self, forKey: .url))
        session = try SessionName(try container.decode(String.self, forKey: .session))
        username = try container.decodeIfPresent(String.self, forKey: .username)
        if let username, !Self.isUsername(username) { throw RuleURL.Flaw.malformed }
        directory = try container.decodeIfPresent(String.self, forKey: .directory)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(url.description, forKey: .url)
        try container.encode(session.rawValue, forKey: .session)
        try container.encodeIfPresent(username, forKey: .username)
        try container.encodeIfPresent(directory, forKey: .directory)
    }
}
