import AccountKit
import AccountSupport

/// The JSON format of a state. It never contains a token.
struct StateDocument: Encodable {
    struct Revocation: Encodable {
        var issuer: String?
        var date: Date

        /// `true` if the tokens will be revoked when the user signs out.
        var waitsForSignOut: Bool?
    }

    struct AccountPart: Encodable {
        var id: String
        var username: String?
        var issuer: String?
        var profile: [String: ProfileValue]?

        /// The APIs that the token is for (RFC 8707).
        var resources: [String]?

        /// `true` if the session belongs to a client without a user.
        var isMachine: Bool?

        /// The source of the assertions of a workload, such as `["file", "/run/token"]`.
        var workload: [String]?

        init(_ account: Account) {
            id = account.id
            username = account.username
            issuer = account.issuer
            profile = account.profile.fields.isEmpty ? nil : account.profile.fields
            resources = account.credentials.resources.isEmpty ? nil : account.credentials.resources
            isMachine = account.isClient ? true : nil
            workload = account.credentials.machine?.workload
        }
    }

    var state: String
    var session: String
    var source: String?
    var reason: String?
    var message: String?
    var retryAfter: Int64?
    var account: AccountPart?
    var verifiedAt: Date?
    var expiresAt: Date?

    /// `true` if the tokens are bound to a key of the session (RFC 9449).
    var isBound: Bool?

    /// `true` if no program gets the tokens, for the reason in ``reason``.
    var isWithheld: Bool?

    var endedAt: Date?
    var endedBy: String?
    var unfinishedRefreshAt: Date?

    /// The other user whose account `login` replaced. Other commands omit this member.
    var replaced: AccountPart?

    // Only from `status`.
    var archive: String?
    var replicaAt: Date?
    var store: [StorageObservation]?
    var pendingRevocations: [Revocation]?
    var environment: [String: String]?

    /// What the user would lose by signing out, such as "2 changes that are not sent yet".
    var unsent: String?

    // Only from `sessions`.
    var isDefault: Bool?

    init(_ state: SessionState, session: SessionName) {
        self.session = session.rawValue
        switch state {
        case .verified(let account):
            self.state = "verified"
            set(account)
        case .unverified(let account, let reason):
            self.state = "unverified"
            self.reason = reason.code.rawValue
            message = reason.detail
            retryAfter = reason.retryAfter?.components.seconds
            set(account)
        case .signedOut(let signOut):
            self.state = "signedOut"
            reason = signOut.reason.rawValue
            message = signOut.detail
            endedAt = signOut.date
            endedBy = signOut.issuer
            unfinishedRefreshAt = signOut.unfinishedRefresh
        case .unreadable(let error):
            self.state = "unreadable"
            reason = error.code.rawValue
            message = error.description
        }
    }

    private mutating func set(_ account: Account) {
        self.account = AccountPart(account)
        verifiedAt = account.verifiedAt
        expiresAt = account.credentials.expiresAt
        isBound = account.credentials.requiresProof ? true : nil
        isWithheld = account.credentials.isWithheld ? true : nil
    }
}

/// Prints JSON with ISO 8601 dates in UTC, sorted keys and no `null`. Text from a service cannot control the terminal
/// that shows the document.
package enum JSONDocument {
    package static func print(_ document: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let text = String(decoding: try encoder.encode(document), as: UTF8.self)
        try Terminal.printText(text.escapingDisplayControls + "\n")
    }
}
