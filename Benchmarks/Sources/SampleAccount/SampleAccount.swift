public import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension Account {
    /// Returns a typical account: three tokens and a profile.
    public static func sample(issuer: String? = nil) -> Account {
        let token = { (name: String) in Secret(name + "-" + String(repeating: "0123456789abcdef", count: 4)) }
        let now = Date()
        var profile = UserProfile()
        profile.name = "Alice Example"
        profile.email = "alice@example.com"
        profile.isEmailVerified = true
        profile["points"] = 42
        profile.registeredAt = Date(timeIntervalSince1970: 1_577_934_245)
        return Account(
            id: "248289761001", issuer: issuer, username: "alice",
            credentials: Credentials(
                accessToken: token("access"), refreshToken: token("refresh"), idToken: token("id"),
                scopes: ["openid", "profile"], clientID: "bench", issuedAt: now,
                expiresAt: now.addingTimeInterval(86_400)),
            profile: profile, verifiedAt: now)
    }
}
