/// A rule that a life must not violate. The first five rules are the purpose of the simulation.
enum Rule: Int, Sendable {
    case onlyUserOrRejectionClears = 1
    case refreshTokenIsSentOnce
    case nobodyElsesSessionIsTouched
    case memoryAndDiskAgree
    case eventForEveryChange
    case everythingEnds
    case signOutReachesTheService
    case nothingIsLeftBehind
    case nobodyWaitsForTheService
    case seedReplaysExactly
    case withheldTokensAreNotReturned
    case refusedTokenIsReplaced
    case refusalToRenewIsReported

    var text: String {
        switch self {
        case .onlyUserOrRejectionClears: "only the user or an explicit rejection clears"
        case .refreshTokenIsSentOnce:
            "a refresh token is sent again only after its response was lost, and a record shows it"
        case .nobodyElsesSessionIsTouched: "a commit affects only its own session"
        case .memoryAndDiskAgree: "memory and disk agree"
        case .eventForEveryChange: "an event for every change, in order"
        case .everythingEnds: "every operation ends, and the locks are free"
        case .signOutReachesTheService: "a sign-out reaches the service"
        case .nothingIsLeftBehind: "the tokens that the service issued are stored or revoked"
        case .nobodyWaitsForTheService: "no process waits for the service under the lock"
        case .seedReplaysExactly: "a seed replays exactly"
        case .withheldTokensAreNotReturned: "no program gets a token of another user or type"
        case .refusedTokenIsReplaced: "a token that an API refuses is replaced once"
        case .refusalToRenewIsReported: "a refusal to renew a session is reported, and only another sign-in ends it"
        }
    }
}

struct Violation {
    let rule: Rule
    let text: String
}

/// A guarantee of the environment that the world violates on purpose. A rule must detect the violation.
enum Mistake: String, CaseIterable, Sendable {
    /// The authority reports each failure of a refresh as the end of the session.
    case callsTroubleDefinite = "calls-trouble-definite"

    /// The authority reports a client that the service no longer knows as the end of the session.
    case callsUnknownClientDefinite = "calls-unknown-client-definite"

    /// The authority reports a refusal to renew a session as a server error.
    case hidesRefusals = "hides-refusals"

    /// The app's client returns the 401 response of an API to the app, and asks for no other token.
    case ignoresRefusals = "ignores-refusals"

    /// The storage allows several processes to change the archive at once.
    case locksNobodyOut = "locks-nobody-out"

    /// The storage grants the lease of a refresh to each process that requests it.
    case leasesToAll = "leases-to-all"

    /// The authority drops the response to a refresh if its caller has left.
    case cutsExchangesOff = "cuts-exchanges-off"

    /// The authority reports late tokens as revoked, and does not revoke them.
    case keepsLateTokens = "keeps-late-tokens"

    /// The authority reports an odd response to a refresh as a failure, so its tokens are lost.
    case judgesBeforeStoring = "judges-before-storing"

    /// The authority reports an odd response to a refresh as a plain one.
    case hidesOddities = "hides-oddities"

    /// A signal ends the process at once, even during an exchange.
    case diesAtOnce = "dies-at-once"

    /// The transport sends a request again if there was no response.
    case sendsAgain = "sends-again"

    /// The storage loses the record of a refresh.
    case losesRecord = "loses-record"

    /// The storage compares no revisions, and its lock can be lost.
    case ignoresRevisions = "ignores-revisions"

    /// An interrupted write leaves half a file.
    case tearsWrites = "tears-writes"

    /// The storage reports a write that it did not carry out.
    case forgetsWrites = "forgets-writes"

    /// A read without the lock returns older content.
    case readsTheOld = "reads-the-old"

    /// The storage reports no changes.
    case tellsNobody = "tells-nobody"

    /// A listener misses some events.
    case losesEvents = "loses-events"

    /// A listener gets events in the wrong order.
    case swapsEvents = "swaps-events"

    /// The storage does not release the lock of a process that died.
    case keepsLockOfTheDead = "keeps-lock-of-the-dead"

    /// The authority returns the tokens of a sign-in without the key that they are bound to.
    case losesKey = "loses-key"

    /// The transport drops revocations, and reports success.
    case dropsRevocations = "drops-revocations"

    /// The life depends on more than the seed.
    case usesOtherRandomness = "uses-other-randomness"

    /// A change compares only revisions, and not whether the sender still holds its locks.
    case commitsWithoutFence = "commits-without-fence"

    /// A change compares only the holders of the locks, and no revisions.
    case commitsWithoutCompare = "commits-without-compare"

    /// From the intent on, the lease of a refresh is short, nothing keeps it alive, and its holder relies on it.
    case leaseIsNotKeptAlive = "lease-is-not-kept-alive"

    /// A process sends a refresh token although it was stopped for longer than the lease lasts.
    case sendsUnderLostLease = "sends-under-lost-lease"

    /// A process sends a refresh token although it was stopped between the check of its lease and the first byte.
    case sendsAfterStop = "sends-after-stop"

    /// The store carries out a late commit, even if newer content has been stored since.
    case lateWriterOverwrites = "late-writer-overwrites"

    /// Reads under the lock do not update the replica, which is then older than the memory of the process.
    case replicaMissesLockedReads = "replica-misses-locked-reads"

    /// A machine writes its replica to the store when it reaches the store again.
    case writesReplicaBack = "writes-replica-back"

    /// An unreachable store counts as signed out.
    case takesUnreachableForSignedOut = "takes-unreachable-for-signed-out"

    /// The kind of storage that the mistake needs; `nil` for any.
    var store: Weather.Store? {
        switch self {
        case .ignoresRevisions: .unfenced
        case .commitsWithoutFence, .commitsWithoutCompare, .leaseIsNotKeptAlive, .sendsUnderLostLease,
            .sendsAfterStop, .lateWriterOverwrites, .writesReplicaBack, .replicaMissesLockedReads,
            .takesUnreachableForSignedOut:
            .fenced
        default: nil
        }
    }

    /// The rules of which at least one must detect the mistake.
    var breaks: Set<Rule> {
        switch self {
        case .callsTroubleDefinite, .callsUnknownClientDefinite: [.onlyUserOrRejectionClears]
        case .locksNobodyOut: [.refreshTokenIsSentOnce, .eventForEveryChange, .signOutReachesTheService]
        case .leasesToAll, .sendsAgain, .losesRecord, .judgesBeforeStoring: [.refreshTokenIsSentOnce]
        case .hidesOddities: [.withheldTokensAreNotReturned]
        case .commitsWithoutFence, .leaseIsNotKeptAlive, .sendsUnderLostLease, .sendsAfterStop:
            [.refreshTokenIsSentOnce]
        case .commitsWithoutCompare: [.onlyUserOrRejectionClears, .nobodyElsesSessionIsTouched]
        case .lateWriterOverwrites, .writesReplicaBack, .losesKey: [.nobodyElsesSessionIsTouched]
        case .takesUnreachableForSignedOut: [.onlyUserOrRejectionClears]
        case .cutsExchangesOff, .diesAtOnce: [.refreshTokenIsSentOnce]
        case .keepsLateTokens: [.nothingIsLeftBehind]
        case .ignoresRevisions: [.nobodyElsesSessionIsTouched]
        case .tearsWrites, .tellsNobody: [.memoryAndDiskAgree]
        case .forgetsWrites: [.memoryAndDiskAgree, .eventForEveryChange]
        case .readsTheOld, .losesEvents, .swapsEvents, .replicaMissesLockedReads: [.eventForEveryChange]
        case .keepsLockOfTheDead: [.everythingEnds]
        case .dropsRevocations: [.signOutReachesTheService]
        case .usesOtherRandomness: [.seedReplaysExactly]
        case .hidesRefusals: [.refusalToRenewIsReported]
        case .ignoresRefusals: [.refusedTokenIsReplaced]
        }
    }
}
