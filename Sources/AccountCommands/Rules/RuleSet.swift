/// Which sign-in is for which URL. Without a rule nobody gets a token.
struct RuleSet: Codable, Equatable, Sendable {
    private(set) var rules: [Rule] = []

    init(_ rules: [Rule] = []) {
        for rule in rules { add(rule) }
    }

    /// The rule for a request.
    ///
    /// The longest URL wins; of rules for the same URL one for a directory, the longest first; of those one for the same user.
    ///
    /// - Parameters:
    ///   - url: Where the token is to be sent to.
    ///   - username: Whose token is wanted; `nil` if that is left open.
    ///   - directory: Tells the directory that the program is in. It is called only if that matters.
    func rule(for url: RuleURL, username: String? = nil, in directory: () -> String?) -> Rule? {
        var candidates = rules.filter { $0.url.covers(url) && $0.isMeant(for: username) }
        if candidates.contains(where: { $0.directory != nil }) {
            let directory = directory()
            candidates.removeAll { !$0.isMeant(in: directory) }
        }
        // The first of several that are as good.
        return candidates.reduce(into: nil) { best, rule in
            if best.map({ $0.weight(for: username) < rule.weight(for: username) }) ?? true { best = rule }
        }
    }

    /// Adds a rule, or puts it in the place of one that is for the same.
    ///
    /// - Returns: The rule that it has replaced.
    @discardableResult
    mutating func add(_ rule: Rule) -> Rule? {
        guard let index = rules.firstIndex(where: { $0.hasSamePurpose(as: rule) }) else {
            rules.append(rule)
            return nil
        }
        defer { rules[index] = rule }
        return rules[index]
    }

    /// Adds a rule that nobody asked for: it takes nothing away from rules that are there.
    ///
    /// - Returns: The rule that stands in its way, if that is for another session.
    mutating func add(unlessRuled rule: Rule) -> Rule? {
        if let other = rules.first(where: { $0.url == rule.url && $0.directory == nil }) {
            return other.session == rule.session ? nil : other
        }
        rules.append(rule)
        return nil
    }

    /// - Returns: The rules that are gone.
    mutating func remove(where isMeant: (Rule) -> Bool) -> [Rule] {
        defer { rules.removeAll(where: isMeant) }
        return rules.filter(isMeant)
    }

    /// By URL.
    var sorted: [Rule] {
        rules.sorted { ($0.url.description, $0.directory ?? "") < ($1.url.description, $1.directory ?? "") }
    }
}

extension Rule {
    /// Names that services take in place of any user's.
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
