import AccountKit
import AccountCrypto
import AccountSupport

/// The response that the service sends through the browser: a code or an error (RFC 6749, sections 4.1.2 and 4.1.2.1).
struct AuthorizationResponse: Sendable, Equatable {
    var code: Secret?
    var error: String?
    var errorDescription: String?
    var state: String?

    /// The issuer that the response names (RFC 9207).
    var issuer: String?

    /// Parses the query of a redirect. Returns `nil` if the query is malformed or repeats a known parameter (RFC 6749,
    /// section 3.1).
    init?(query: Substring) {
        var values: [String: String] = [:]
        for field in query.split(separator: "&") {
            let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decoded(parts[0]), let value = Self.decoded(parts.count == 2 ? parts[1] : "") else {
                return nil
            }
            guard Self.parameters.contains(name) else { continue }
            guard values.updateValue(value, forKey: name) == nil else { return nil }
        }
        values = values.filter { !$0.value.isEmpty }
        code = values["code"].map { Secret($0) }
        error = values["error"]
        errorDescription = values["error_description"]
        state = values["state"]
        issuer = values["iss"]
    }

    private static let parameters: Set<String> = ["code", "error", "error_description", "state", "iss"]

    /// Decodes `application/x-www-form-urlencoded` text (RFC 6749, appendix B).
    private static func decoded(_ text: Substring) -> String? {
        String(percentEncoded: text.replacing("+", with: " "))
    }

    /// Returns whether the response contains the state. The comparison takes constant time.
    func answers(_ state: String) -> Bool {
        guard let own = self.state else { return false }
        return Sodium.isEqual(own.utf8, state.utf8)
    }

    /// Returns the code of the response. If the response contains an issuer, it must be `issuer`, even if `namesIssuer`
    /// is `false` (RFC 9207, section 2.4).
    func code(
        from issuer: Issuer, namingIssuer namesIssuer: Bool, hiding secrets: [Secret]
    ) throws(AuthorityError) -> Secret {
        let failure = failure(hiding: secrets)
        switch self.issuer {
        case let other? where !issuer.isNamed(by: other):
            throw .unclear("the browser returned from a service other than \(issuer.identifier)")
        case nil where namesIssuer:
            let code =
                if case .oauthError(let code, _)? = failure { "; unverified error: \(code)" } else { "" }
            throw .unclear(
                "the response does not name the issuer (iss), although the service's metadata says that it will\(code)")
        default: break
        }
        if error != nil {
            throw failure ?? .unclear("\(issuer.identifier) sent the browser back with a malformed error")
        }
        guard let code else { throw .unclear("\(issuer.identifier) sent the browser back without a code") }
        return code
    }

    private func failure(hiding secrets: [Secret]) -> AuthorityError? {
        guard let error else { return nil }
        let fields: JSONObject = [
            "error": .string(error), "error_description": errorDescription.map { .string($0) } ?? .null,
        ]
        return ResponseParser(.authorization, sent: secrets + (code.map { [$0] } ?? [])).oauthError(in: fields)
    }
}
