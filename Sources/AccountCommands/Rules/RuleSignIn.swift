package import AccountKit
import AccountSupport

/// The sign-in whose token a rule allows. A token goes where its sign-in was for: if the session of the rule later has a
/// token of another issuer, or for another API, programs do not get that token at the URL of the rule.
package struct RuleSignIn: Sendable, Equatable {
    /// The issuer identifier of the service.
    package var issuer: String

    /// The API that the sign-in requested tokens for (RFC 8707), as sent; `nil` if it named none.
    package var resource: String?

    package init(issuer: String, resource: String? = nil) {
        self.issuer = issuer
        self.resource = resource
    }

    /// Returns the sign-in of an account, for a rule with a URL; `nil` if the account does not name its issuer. If the
    /// sign-in was for several APIs, the API of the URL counts.
    package init?(of account: Account, at url: RuleURL) {
        guard let issuer = account.issuer else { return nil }
        let resources = account.credentials.resources
        self.init(
            issuer: issuer,
            resource: resources.first { (try? RuleURL($0))?.covers(url) == true } ?? resources.first)
    }

    /// Returns whether the token of an account may be sent to the URL of the rule.
    package func allows(_ account: Account) -> Bool {
        guard let other = account.issuer, other.withoutEndingSlash == issuer.withoutEndingSlash else { return false }
        let resources = account.credentials.resources
        guard let resource else { return resources.isEmpty }
        return resources.contains { Self.isSame($0, resource) }
    }

    /// Returns whether two URLs of an API are the same after normalization, or two other resources are equal. As in rules, a
    /// slash at the end of a path has no meaning.
    static func isSame(_ left: String, _ right: String) -> Bool {
        if left == right { return true }
        guard let left = try? RuleURL(left), let right = try? RuleURL(right) else { return false }
        return left == right
    }
}

extension Rule {
    /// Throws `misconfigured` if the token of an account is not from the sign-in that made this rule. A rule without a
    /// sign-in allows each token of its session.
    package func checkSignIn(of account: Account, _ hint: CommandHint) throws(AccountError) {
        guard let signIn, !signIn.allows(account) else { return }
        let api = account.credentials.resources.first.map { " for \($0.shown)" } ?? ""
        let service = account.issuer.map { " from \($0.shown)" } ?? ""
        let target = signIn.resource == nil ? "--issuer \(signIn.issuer.shellWord)" : "\(url)"
        throw AccountError(
            .misconfigured,
            "session \(session) now has a token\(api)\(service), which was not issued for \(url), so it is not sent there",
            hint:
                "sign in for \(url.host) with `\(hint.tool) login \(target) --session NAME`, or allow this token with "
                + "`\(hint.tool) rule add \(url) --session \(session)`")
    }
}

extension SessionName {
    /// Creates the name of a session after the host of a URL, such as `api.example.com`, with a number if that name is not
    /// free.
    package init(namedAfter url: RuleURL, number: Int = 1) {
        var host = String(url.host.map { $0.isLetter || $0.isNumber || ".-_".contains($0) ? $0 : "-" }.prefix(56))
        // An IPv6 address is in brackets.
        while let first = host.first, !first.isLetter, !first.isNumber { host.removeFirst() }
        while let last = host.last, !last.isLetter, !last.isNumber { host.removeLast() }
        self = (try? SessionName(number == 1 ? host : "\(host)-\(number)")) ?? .default
    }
}
