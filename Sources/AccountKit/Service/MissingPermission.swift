/// A permission that the token lacks, according to the header fields of GitHub and of services with its API.
///
/// Without the scope, GitHub responds with 404 to changes, as if the item did not exist. Its documentation names the
/// fields: <https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/scopes-for-oauth-apps>, and
/// <https://docs.github.com/en/rest/authentication/authenticating-to-the-rest-api> for single sign-on.
package struct MissingPermission: CustomStringConvertible, Sendable {
    private enum Kind: Sendable {
        /// One of these scopes suffices.
        case scopes([String])
        case permissions(String)
        /// The organization requires a sign-in at its own page.
        case singleSignOn(page: String?)
    }

    private let kind: Kind

    /// Returns `nil` if the response does not say which permission the token lacks.
    ///
    /// - Parameter field: Returns the value of a header field by its name in lower case.
    package init?(status: Int, field: (_ name: String) -> String?) {
        guard status == 403 || status == 404 else { return nil }
        if let text = field("x-github-sso"), text.hasPrefix("required") {
            kind = .singleSignOn(page: Self.page(in: text))
        } else if let accepted = field("x-accepted-oauth-scopes").map(Self.names), !accepted.isEmpty,
            let granted = field("x-oauth-scopes").map(Self.names), Set(accepted).isDisjoint(with: granted)
        {
            kind = .scopes(accepted)
        } else if status == 403, let text = field("x-accepted-github-permissions"),
            let permissions = ServerText(secrets: []).shown(text)
        {
            kind = .permissions(permissions)
        } else {
            return nil
        }
    }

    private static func names(in field: String) -> [String] {
        field.split(separator: ",").map { $0.filter { $0 != " " && $0 != "\t" } }
            .filter { !$0.isEmpty && $0.utf8.count <= 128 && $0.utf8.allSatisfy { 0x21...0x7E ~= $0 } }
    }

    /// The URL in `required; url=…`, without the query, which contains a token.
    private static func page(in field: String) -> String? {
        guard let start = field.firstRange(of: "url=https://") else { return nil }
        let page = "https://" + field[start.upperBound...].prefix { !"?#; ".contains($0) }
        return page.utf8.count <= 128 && page.utf8.allSatisfy { 0x21...0x7E ~= $0 } ? page : nil
    }

    /// What the request requires, and what to do.
    package var description: String {
        switch kind {
        case .scopes(let names) where names.count == 1:
            let requirement = AccessRequirement(scopes: names)
            return "this requires \(requirement), which the sign-in does not include; sign in again for it (on a "
                + "command line, with `login \(requirement.signInOptions)`)"
        case .scopes(let names):
            return "this requires one of the scopes \(names.prefix(8).joined(separator: ", ")), and the sign-in "
                + "includes none of them; sign in again for one (on a command line, with `login --step-up --scope=…`)"
        case .permissions(let names):
            return
                "this requires the permission \(names), which the token may not have; change the permissions of the token "
                + "or of the app at the service, and sign in again (on a command line, with `login --step-up`)"
        case .singleSignOn(let page):
            return
                "the organization requires single sign-on; sign in there\(page.map { " at \($0)" } ?? ""), and then sign in "
                + "here again (on a command line, with `login --step-up`)"
        }
    }
}
