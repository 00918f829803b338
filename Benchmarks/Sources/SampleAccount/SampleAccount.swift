public import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension Account {
    /// Returns a typical account: three tokens, and a profile whose record takes about `profileByteCount` bytes.
    ///
    /// The minimum is about 300 bytes. A larger account has more fields of 64 bytes, like fields of an app.
    public static func sample(issuer: String? = nil, profileByteCount: Int = 300) -> Account {
        let token = { (name: String) in Secret(name + "-" + String(repeating: "0123456789abcdef", count: 4)) }
        let now = Date()
        var profile = UserProfile()
        profile.name = "Alice Example"
        profile.email = "alice@example.com"
        profile.isEmailVerified = true
        profile["points"] = 42
        profile.registeredAt = Date(timeIntervalSince1970: 1_577_934_245)
        // The size of a name, a string and their offsets in the property list.
        for number in 0..<max(0, (profileByteCount - 300) / 80) {
            profile["field_\(number)"] = .string(String(repeating: "x", count: 59 - "\(number)".count) + "\(number)")
        }
        return Account(
            id: "248289761001", issuer: issuer, username: "alice",
            credentials: Credentials(
                accessToken: token("access"), refreshToken: token("refresh"), idToken: token("id"),
                scopes: ["openid", "profile"], clientID: "bench", issuedAt: now,
                expiresAt: now.addingTimeInterval(86_400)),
            profile: profile, verifiedAt: now)
    }
}

extension UserProfile {
    /// The profile field that the benchmarks change.
    public var points: Int64 { if case .integer(let points)? = self["points"] { points } else { 0 } }
}
