#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The authorization codes that were issued.
///
/// A value without side effects, like `GrantLedger`. Source: RFC 6749, sections 4.1.2 and 4.1.3.
struct CodeLedger: Codable, Equatable, Sendable {
    private var codes: [String: AuthorizationCode] = [:]

    mutating func issue(_ authorization: AuthorizationCode) -> String {
        let code = RandomText.token(prefix: "ac_")
        codes[code] = authorization
        return code
    }

    /// What became of a code that was presented.
    enum Redemption: Equatable, Sendable {
        case valid(AuthorizationCode)
        /// It was exchanged before, for this access token.
        case reused(accessToken: String)
        case expired
        /// It is for another address, or the verifier is not that of the challenge.
        case mismatch
        case unknown
    }

    /// Checks a code; `spend` makes it useless.
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
