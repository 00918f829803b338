package import AccountKit
import AccountSupport

/// A rule that allows other programs to use the token of a session for a URL.
package struct Rule: Sendable, Equatable {
    /// The URL to which the token may be sent, and all URLs below it.
    package var url: RuleURL

    package var session: SessionName

    /// The user name to use with the token. With `nil`, the service determines the name. With a name, the rule applies
    /// only to programs that request this user or no particular user.
    package var username: String?

    /// The folder in which a program must run, directly or in a subfolder; `nil` for any folder. The path is absolute
    /// and contains no symbolic links.
    package var directory: String?

    /// The sign-in whose token the rule allows. `nil` for any token of the session, if no user was signed in when the rule
    /// was made. The next sign-in then sets it.
    package var signIn: RuleSignIn?

    package init(
        url: RuleURL, session: SessionName, username: String? = nil, directory: String? = nil, signIn: RuleSignIn? = nil
    ) {
        self.signIn = signIn
        self.url = url
        self.session = session
        self.username = username
        self.directory = directory
    }

    /// Returns whether a string is valid as the user name of HTTP's Basic scheme (RFC 7617, section 2).
    package static func isUsername(_ text: String) -> Bool {
        1...255 ~= text.utf8.count && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: ":") }
    }

    func hasSamePurpose(as other: Rule) -> Bool {
        url == other.url && directory == other.directory && username == other.username
    }
}

extension Rule: Codable {
    private enum CodingKeys: String, CodingKey { case url, session, username, directory, issuer, resource }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        url = try RuleURL(try container.decode(String.self, forKey: .url))
        session = try SessionName(try container.decode(String.self, forKey: .session))
        username = try container.decodeIfPresent(String.self, forKey: .username)
        if let username, !Self.isUsername(username) { throw ServiceURL.Flaw.malformed }
        directory = try container.decodeIfPresent(String.self, forKey: .directory)
        let resource = try container.decodeIfPresent(String.self, forKey: .resource)
        signIn = try container.decodeIfPresent(String.self, forKey: .issuer).map {
            RuleSignIn(issuer: $0, resource: resource)
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(url.description, forKey: .url)
        try container.encode(session.rawValue, forKey: .session)
        try container.encodeIfPresent(username, forKey: .username)
        try container.encodeIfPresent(directory, forKey: .directory)
        try container.encodeIfPresent(signIn?.issuer, forKey: .issuer)
        try container.encodeIfPresent(signIn?.resource, forKey: .resource)
    }
}
