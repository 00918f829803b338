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
            let read = JSONWebToken(token)
            let issuedAt = read?.issuedAt.map { min($0, credentials.issuedAt) } ?? credentials.issuedAt
            self.init(secret: token, issuedAt: issuedAt, expiresAt: read?.expiresAt, isRenewable: isRenewable)
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
