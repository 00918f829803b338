/// What the flows of a session share: its vault, and the requests in progress.
struct Flows: Sendable {
    let vault: Vault
    let refreshes = SingleFlight<Request, RefreshOutcome>(by: Request.isSame)
    let exchanges = Exchanges()
    let ownFailures = OwnFailures()
    let refusedReplacement = RefusedReplacement()

    /// Whether AccountKit may replace or remove an archive that cannot be opened, even on storage that several machines
    /// share.
    var replacesUnreadable = false

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

    func mayReplace(_ error: AccountError) -> Bool { error.isAboutContent && !keepsUnreadable }

    /// Makes sure that the account of a sign-in can be saved, before a code or token is spent.
    func prepareSignIn() async throws(AccountError) {
        // Ask for a passphrase before acquiring the lock, so that other processes do not wait for the user.
        switch await vault.stored() {
        case .present: break
        case .unreadable(let error) where !mayReplace(error): throw error
        case .unreadable(let error):
            let hasOtherKinds = try await AccountError.wrappingErrors { try await vault.hasOtherKindsOfKeys() }
            guard !hasOtherKinds else { throw error }
            try await vault.ring.prepare()
        case .absent: try await vault.ring.prepare()
        }
        try await vault.change { draft in
            // An archive that cannot be reached now cannot be replaced later either.
            if case .unreadable(let error) = await draft.stored(), !mayReplace(error) { throw error }
            try await draft.prepareSave()
        }
    }
}
