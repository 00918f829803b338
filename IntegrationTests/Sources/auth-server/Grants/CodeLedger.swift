#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The issued authorization codes.
///
/// A value type without side effects, like `GrantLedger`. Source: RFC 6749, sections 4.1.2 and 4.1.3.
struct CodeLedger: Codable, Equatable, Sendable {
    private var codes: [String: AuthorizationCode] = [:]

    mutating func issue(_ authorization: AuthorizationCode) -> String {
        let code = RandomText.token(prefix: "ac_")
        codes[code] = authorization
        return code
    }

    /// The result of checking a code.
    enum Redemption: Equatable, Sendable {
        case valid(AuthorizationCode)
        /// The code was exchanged before, for this access token.
        case reused(accessToken: String)
        case expired
        /// The redirect URI differs, or the verifier does not match the challenge.
        case mismatch
        case unknown
    }

    /// Checks a code. `spend` invalidates it.
    func redemption(of code: String, redirectURI: String, verifier: String, now: Date) -> Redemption {
        guard let held = codes[code] else { return .unknown }
        if let accessToken = held.spentFor { return .reused(accessToken: accessToken) }
        guard held.expiresAt > now else { return .expired }
        guard held.redirectURI == redirectURI, held.challenge.matches(verifier: verifier) else { return .mismatch }
        return .valid(held)
    }

    mutating func spend(_ code: String, for accessToken: String) {
        codes[code]?.spentFor = accessToken
    }
}
