import AccountKit

/// Maps URLs to sessions. If no rule covers a URL, programs get no token for it.
package struct RuleSet: Codable, Equatable, Sendable {
    package private(set) var rules: [Rule] = []

    package init(_ rules: [Rule] = []) {
        for rule in rules { add(rule) }
    }

    /// Returns the rule with the longest URL. Among rules for the same URL, returns the rule with the longest
    /// directory. If the directories are also equal, returns the rule with the same user. A `username` of `nil` matches
    /// any user. `directory` is called only if needed.
    package func rule(for url: RuleURL, username: String? = nil, in directory: () -> String?) -> Rule? {
        var candidates = rules.filter { $0.url.covers(url) && $0.isMeant(for: username) }
        if candidates.contains(where: { $0.directory != nil }) {
            let directory = directory()
            candidates.removeAll { !$0.isMeant(in: directory) }
        }
        // Among equal rules, take the first.
        return candidates.reduce(into: nil) { best, rule in
            if best.map({ $0.weight(for: username) < rule.weight(for: username) }) ?? true { best = rule }
        }
    }

    /// Adds a rule, or replaces and returns the rule with the same scope.
    @discardableResult
    package mutating func add(_ rule: Rule) -> Rule? {
        guard let index = rules.firstIndex(where: { $0.hasSamePurpose(as: rule) }) else {
            rules.append(rule)
            return nil
        }
        defer { rules[index] = rule }
        return rules[index]
    }

    /// Adds a rule unless its URL already has a rule for all directories. Returns the existing rule if that rule is for
    /// another session. An existing rule for the same session allows the token of the new sign-in from now on.
    mutating func add(unlessRuled rule: Rule) -> Rule? {
        guard let index = rules.firstIndex(where: { $0.url == rule.url && $0.directory == nil }) else {
            rules.append(rule)
            return nil
        }
        guard rules[index].session == rule.session else { return rules[index] }
        for index in rules.indices where rules[index].url == rule.url && rules[index].session == rule.session {
            rules[index].signIn = rule.signIn
        }
        return nil
    }

    /// Sets the sign-in of the session's rules that contain none.
    mutating func bind(_ session: SessionName, to signIn: (RuleURL) -> RuleSignIn?) {
        for index in rules.indices where rules[index].session == session && rules[index].signIn == nil {
            rules[index].signIn = signIn(rules[index].url)
        }
    }

    package mutating func remove(where isMeant: (Rule) -> Bool) -> [Rule] {
        defer { rules.removeAll(where: isMeant) }
        return rules.filter(isMeant)
    }

    package var sorted: [Rule] {
        rules.sorted { ($0.url.description, $0.directory ?? "") < ($1.url.description, $1.directory ?? "") }
    }
}

extension Rule {
    /// User names that services accept in place of any user's name.
    static let anyUser: Set<String> = ["oauth2", "x-access-token", "x-token-auth"]

    fileprivate func isMeant(for username: String?) -> Bool {
        guard let username, !username.isEmpty, let own = self.username, !Self.anyUser.contains(own) else { return true }
        return own == username
    }

    fileprivate func isMeant(in place: String?) -> Bool {
        guard let directory else { return true }
        guard let place else { return false }
        return directory == "/" || place == directory || place.hasPrefix(directory + "/")
    }

    fileprivate func weight(for username: String?) -> (Int, Int, Int) {
        (url.path.count, directory?.utf8.count ?? 0, self.username == username ? 1 : 0)
    }
}
