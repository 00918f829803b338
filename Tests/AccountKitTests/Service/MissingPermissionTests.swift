import Foundation
import Testing

@testable import AccountKit

/// A refusal because of a missing scope names the scope, even if the service responds as if the item did not exist.
struct MissingPermissionTests {
    private func permission(_ status: Int, _ fields: [String: String]) -> String? {
        MissingPermission(status: status) { fields[$0] }?.description
    }

    @Test(arguments: [
        (404, "gist", "read:user", "requires the scope gist,"), (403, "gist", "", "requires the scope gist,"),
        (404, " gist , ", "repo,user", "--scope=gist`"), (404, "a, b", "c", "one of the scopes a, b,"),
        // The token has a sufficient scope, or the request needs none, so the item is missing.
        (404, "gist", "gist", nil), (404, "gist, repo", "user, repo", nil), (404, "", "read:user", nil),
        (404, " , ", "read:user", nil),
        // Other statuses have other reasons.
        (401, "gist", "", nil), (422, "gist", "", nil), (200, "gist", "", nil), (500, "gist", "", nil),
        // Values that are no scopes.
        (404, "a\u{1B}b", "c", nil),
    ])
    func `Names the scope that a token lacks`(status: Int, accepted: String, granted: String, text: String?) {
        let words = permission(status, ["x-accepted-oauth-scopes": accepted, "x-oauth-scopes": granted])
        #expect(text.map { words?.contains($0) == true } ?? (words == nil), "\(words ?? "nil")")
    }

    @Test func `Needs both fields, or the field for permissions`() {
        #expect(permission(404, ["x-accepted-oauth-scopes": "gist"]) == nil)
        #expect(permission(404, ["x-oauth-scopes": "user"]) == nil)
        #expect(permission(403, [:]) == nil)
        let permissions = ["x-accepted-github-permissions": "gists=write"]
        #expect(permission(403, permissions)?.contains("gists=write") == true)
        #expect(permission(404, permissions) == nil)
    }

    @Test(arguments: [
        (
            "required; url=https://github.com/orgs/octo/sso?authorization_request=canary",
            " at https://github.com/orgs/octo/sso,"
        ),
        ("required", "sign in there, and"), ("required; url=http://octo.example/", "sign in there, and"),
        ("required; url=https://octo.example/\u{1B}[2J", "sign in there, and"),
        ("partial-results; organizations=21955855,20582480", nil), ("", nil),
    ])
    func `Says where to sign in for an organization`(field: String, words: String?) {
        for status in [403, 404] {
            let text = permission(status, ["x-github-sso": field])
            #expect(words.map { text?.contains($0) == true } ?? (text == nil), "\(text ?? "nil")")
            #expect(text?.contains("canary") != true && text?.contains("`login --step-up`") ?? true)
        }
        #expect(permission(200, ["x-github-sso": field]) == nil)
    }

    @Test(arguments: [
        ResponseOutcome.Answer.missing, .refused,
    ])
    func `Refuses a change for a missing scope instead of dropping the item`(answer: ResponseOutcome.Answer) {
        let fields = ["x-accepted-oauth-scopes": ["gist"], "x-oauth-scopes": ["read:user"]]
        let outcome = ResponseOutcome(
            status: 404, body: Data(#"{"message":"Not Found"}"#.utf8), answer: answer, at: Date(),
            missing: { _ in .done }, fields: { fields[$0] ?? [] })
        guard case .refused(let words) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(words.hasPrefix("404: Not Found: this requires the scope gist,"))
        #expect(words.contains("`login --step-up --scope=gist`"))
    }
}
