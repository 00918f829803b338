/// What the flows of a session share: its vault, and the requests in progress.
struct Flows: Sendable {
    let vault: Vault
    let refreshes = SingleFlight<Request, RefreshOutcome>(by: Request.isSame)
    let exchanges = Exchanges()
    let deliveries = Deliveries()
    let ownFailures = OwnFailures()

    /// The token that replaces the archive; `nil` for an archive.
    var givenToken: GivenToken?

    /// Decides whether a sign-in replaces the account of another user; `nil` if each sign-in does.
    var replacementHandler: ReplacementHandler?

    /// Whether AccountKit may replace or remove each archive that cannot be opened, even on storage that several machines
    /// share, and even if it is only locked.
    var replacesUnreadable = false

    /// Whether the store itself revokes the tokens in the queue. If not, its caller does so.
    var deliversRevocations = true

    init(_ vault: Vault) { self.vault = vault }

    /// Whether a sign-in moves aside an archive that fails to open with this error. On storage that machines share, the
    /// archive stays in place, because another machine may have its key.
    func mayReplace(_ error: AccountError) -> Bool {
        error.isAboutContent && (replacesUnreadable || !vault.isShared)
    }

    /// Whether a sign-out does. An archive that is locked stays, because with its key the tokens can still be revoked.
    func mayRemove(_ error: AccountError) -> Bool {
        guard mayReplace(error), !replacesUnreadable else { return mayReplace(error) }
        return switch error.cause as? MissingKey {
        case .lost: true
        case .locked: false
        case nil: error.code != .noKey
        }
    }

    /// The key of a refresh. Tasks with the same key share one refresh.
    struct Request: Sendable {
        let account: Account

        let derivation: Derivation?

        var grant: RefreshGrant { derivation.map { .derived($0) } ?? .renewing(account) }

        static func isSame(_ left: Request, _ right: Request) -> Bool {
            left.account.isSameGrant(as: right.account) && left.derivation?.target == right.derivation?.target
        }
    }
}

package enum ReplacementDecision: Sendable {
    case replace

    /// Store the account in the vault of another session.
    case store(in: Vault)

    /// Keep the ID of the stored account, because the sign-in extends the permissions of a user whom the service does
    /// not identify.
    case keepID
}

/// Decides whether a sign-in replaces the account of another user. AccountKit holds no lock while it calls the handler.
/// If the handler throws an error, the stored account stays, and the new tokens are revoked.
package typealias ReplacementHandler =
    @Sendable (_ stored: Account, _ new: Account) async throws(AccountError) -> ReplacementDecision
