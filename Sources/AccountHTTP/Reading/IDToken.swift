import AccountKit
import AccountSupport

/// The claims of an ID token (OpenID Connect Core, section 2).
struct IDToken: Sendable {
    let claims: JSONObject

    private let audiences: [String]

    /// The accepted difference between the clocks of the service and this machine, in seconds.
    static let leeway: TimeInterval = 120

    init?(_ token: Secret) {
        guard let token = JSONWebToken(token) else { return nil }
        (claims, audiences) = (token.claims, token.audiences)
    }

    func isIssued(by issuer: Issuer) -> Bool {
        claims["iss"]?.string.map { issuer.isNamed(by: $0, tenant: claims["tid"]?.string ?? "") } ?? false
    }

    func isMeant(for clientID: String) -> Bool { audiences.contains(clientID) }

    /// Whether the token was issued to the client. Without `azp`, the audiences decide, also if there are several: many
    /// services send several audiences without this claim, and the final specification no longer requires it (OpenID
    /// Connect Core with errata set 2, section 3.1.3.7).
    private func isIssued(to clientID: String) -> Bool {
        guard audiences.count > 1, let parties = claims["azp"]?.list else { return true }
        return parties.contains(clientID)
    }

    /// Checks that the token belongs to this sign-in (OpenID Connect Core, section 3.1.3.7). Use this method only for a
    /// token that comes directly from the token endpoint, where TLS replaces the signature. `date` is the time by the
    /// clock of the service. If it is `nil`, this method does not check the expiry, because the clock of this machine
    /// may be wrong.
    func check(issuer: Issuer, clientID: String, nonce: String?, at date: Date?) throws(AuthorityError) {
        let name = "the ID token of \(issuer.identifier)"
        guard isIssued(by: issuer) else { throw .misconfigured("\(name) was issued by another service (iss)") }
        guard isMeant(for: clientID) else { throw .misconfigured("\(name) is for another client (aud)") }
        guard isIssued(to: clientID) else { throw .misconfigured("\(name) was issued to another client (azp)") }
        if let date {
            guard let expiry = claims["exp"]?.decimal else {
                throw .unclear("\(name) has no expiry (exp)")
            }
            guard expiry + Self.leeway > date.timeIntervalSince1970 else {
                throw .unclear("\(name) has expired, or the clock of this machine is wrong")
            }
        }
        if let nonce, claims["nonce"] != .string(nonce) {
            throw .unclear("\(name) belongs to another sign-in (nonce)")
        }
        guard identity != nil else { throw .unclear("\(name) does not identify the user (sub)") }
    }

    /// Returns whether the token belongs to an account (OpenID Connect Core, section 12.2). The issuer and the audience
    /// may also match the stored ID token.
    func belongs(to account: Account, issuer: Issuer, clientID: String) -> Bool {
        guard let subject = identity?.id, subject == account.id else { return false }
        let original = account.credentials.idToken.flatMap { IDToken($0) }
        guard isIssued(by: issuer) || claims["iss"] != nil && claims["iss"] == original?.claims["iss"] else {
            return false
        }
        guard isIssued(to: clientID) || claims["azp"] == original?.claims["azp"] else { return false }
        return isMeant(for: clientID) || original.map { !$0.audiences.isEmpty && $0.audiences == audiences } ?? false
    }
}
