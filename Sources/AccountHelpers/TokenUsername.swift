import AccountCommands

/// Chooses the user name for a program that sends a token as a password: some services accept only a certain name, and
/// none accepts an empty one.
enum TokenUsername {
    /// Returns the user name. `requested` is the name in the URL; empty if there is none. `service` is the name of a
    /// known service, or `nil`.
    static func name(
        rule: Rule, requested: String = "", challenges: [String] = [], service: @autoclosure () -> String? = nil,
        account: String?
    ) -> String {
        if let name = rule.username { return name }
        if !requested.isEmpty { return requested }
        if takesAnyName.contains(rule.url.host) { return account ?? "oauth2" }
        if let name = hosts[rule.url.host] ?? service().flatMap({ services[$0] }) { return name }
        for challenge in challenges {
            let challenge = challenge.lowercased()
            if let name = realms.first(where: { challenge.contains("realm=\"" + $0.key) })?.value { return name }
        }
        return account ?? "oauth2"
    }

    /// Returns whether a host is a forge, whose servers expect a password.
    static func isForge(_ host: String) -> Bool { takesAnyName.contains(host) || hosts[host] != nil }

    /// GitLab's documentation: "OAuth 2.0 identity provider API"; Gitea's: "OAuth2 provider"; Bitbucket's: "OAuth 2.0".
    private static let services = ["gitlab": "oauth2"]

    private static let takesAnyName: Set<String> = ["github.com", "gist.github.com", "ghcr.io"]

    private static let hosts = [
        "gitlab.com": "oauth2", "registry.gitlab.com": "oauth2", "codeberg.org": "oauth2", "gitea.com": "oauth2",
        "bitbucket.org": "x-token-auth",
    ]

    /// The beginnings of the realms of self-hosted instances, in lower case.
    private static let realms = [
        "gitlab": "oauth2", "gitea": "oauth2", "forgejo": "oauth2", "bitbucket": "x-token-auth",
        "atlassian bitbucket": "x-token-auth",
    ]
}
