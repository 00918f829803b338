import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A token as it is kept in a file: what it is, and until when.
struct KeptToken: Sendable, Equatable {
    enum Kind: Sendable {
        case access
        /// OpenID Connect Core, section 2.
        case id
    }

    let secret: Secret
    let issuedAt: Date

    /// `nil` is unknown, and never means expired.
    let expiresAt: Date?

    /// Whether there is a refresh token to get another with.
    let isRenewable: Bool

    init(secret: Secret, issuedAt: Date, expiresAt: Date?, isRenewable: Bool) {
        self.secret = secret
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.isRenewable = isRenewable
    }

    /// - Returns: `nil` if the service issued none of that kind.
    init?(_ kind: Kind, of credentials: Credentials) {
        let isRenewable = credentials.refreshToken != nil
        switch kind {
        case .access:
            self.init(
                secret: credentials.accessToken, issuedAt: credentials.issuedAt, expiresAt: credentials.expiresAt,
                isRenewable: isRenewable)
        case .id:
            guard let token = credentials.idToken else { return nil }
            // It may be older than the access token: not every refresh brings another.
            let times = TokenTimes(of: token)
            let issuedAt = times.issuedAt.map { min($0, credentials.issuedAt) } ?? credentials.issuedAt
            self.init(secret: token, issuedAt: issuedAt, expiresAt: times.expiresAt, isRenewable: isRenewable)
        }
    }

    /// In seconds; `nil` if it is unknown.
    var life: TimeInterval? { expiresAt.map { max(0, $0.timeIntervalSince(issuedAt)) } }

    /// From when on nobody should begin to use it: a little before it expires, for who reads it at the last moment.
    var end: Date? {
        guard let expiresAt, let life else { return nil }
        return expiresAt.addingTimeInterval(-min(5, life / 20))
    }

    func isOver(at date: Date) -> Bool {
        guard let end, !isFromFuture(at: date) else { return false }
        return end <= date
    }

    /// Whether the clock was set back since it was issued, so that its expiry says nothing; see `Credentials.isFromFuture`.
    func isFromFuture(at date: Date) -> Bool { expiresAt != nil && issuedAt.timeIntervalSince(date) > 300 }

    /// When to get the next one: at two thirds of its life, or a little earlier, so that not all who began together come
    /// together.
    ///
    /// - Parameter random: From 0 to 1.
    func renewal(random: Double) -> Date? {
        guard isRenewable, let life else { return nil }
        return issuedAt.addingTimeInterval(life * (2.0 / 3 - random / 20))
    }
}

/// When a JSON Web Token was issued, and until when it is good, as it says itself (RFC 7519, sections 4.1.4 and 4.1.6).
/// The signature is the business of whoever accepts the token.
struct TokenTimes: Equatable {
    var issuedAt: Date?
    var expiresAt: Date?

    private struct Claims: Decodable {
        var iat: Double?
        var exp: Double?
    }

    init(of token: Secret) {
        let claims = token.withUnsafeBytes { bytes -> Claims? in
            let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            guard parts.count == 3, parts[1].count <= 1 << 16 else { return nil }
            // A token that is none says nothing of its times.
            return Self.decodedBase64URL(parts[1]).flatMap { try? JSONDecoder().decode(Claims.self, from: $0) }
        }
        issuedAt = claims?.iat.flatMap(Self.date)
        expiresAt = claims?.exp.flatMap(Self.date)
    }

    /// Dates before 1970 or beyond the year 9999 are mistakes.
    private static func date(_ seconds: Double) -> Date? {
        0..<253_402_300_800 ~= seconds ? Date(timeIntervalSince1970: seconds) : nil
    }

    /// RFC 4648, section 5, without padding.
    private static func decodedBase64URL(_ text: Slice<UnsafeRawBufferPointer>) -> Data? {
        var base64 = text.map { byte in
            byte == UInt8(ascii: "-") ? UInt8(ascii: "+") : byte == UInt8(ascii: "_") ? UInt8(ascii: "/") : byte
        }
        base64.append(contentsOf: repeatElement(UInt8(ascii: "="), count: (4 - base64.count % 4) % 4))
        return Data(base64Encoded: Data(base64))
    }
}
