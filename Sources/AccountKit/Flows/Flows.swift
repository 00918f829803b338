/// What the flows of a session share: its vault, and the requests in progress.
struct Flows: Sendable {
    let vault: Vault
    let refreshes = SingleFlight<Request, RefreshOutcome>(by: Request.isSame)
    let exchanges = Exchanges()
    let deliveries = Deliveries()
    let ownFailures = OwnFailures()
    let refusedReplacement = RefusedReplacement()
    let replacementHandler = Replacements()

    /// Whether AccountKit may replace or remove an archive that cannot be opened, even on storage that several machines
    /// share.
    var replacesUnreadable = false

    /// Whether the store itself revokes the tokens in the queue. If not, its caller does so.
    var deliversRevocations = true

    init(_ vault: Vault) { self.vault = vault }

    /// Whether an archive that cannot be opened stays in place, because another machine may have its key.
    var keepsUnreadable: Bool { vault.isShared && !replacesUnreadable }

    /// The key of a refresh. Tasks with the same key share one refresh.
    struct Request: Sendable {
        let account: Account

        let derivation: Derivation?

        static func isSame(_ left: Request, _ right: Request) -> Bool {
            left.account.isSameGrant(as: right.account) && left.derivation?.target == right.derivation?.target
        }
    }
}
