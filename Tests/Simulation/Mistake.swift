/// What may not happen. The first five are what the simulation is about.
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

    var text: String {
        switch self {
        case .onlyUserOrRejectionClears: "only the user or an explicit rejection clears"
        case .refreshTokenIsSentOnce:
            "a refresh token is sent again only after its response was lost, and a record says so"
        case .nobodyElsesSessionIsTouched: "nobody's session is touched by another's commit"
        case .memoryAndDiskAgree: "memory and disk agree"
        case .eventForEveryChange: "an event for every change, in order"
        case .everythingEnds: "everything that is begun ends, and the locks are free"
        case .signOutReachesTheService: "a sign-out reaches the service"
        case .nothingIsLeftBehind: "what the service has issued is stored, or revoked"
        case .nobodyWaitsForTheService: "nobody waits for the service under the lock, nor for a refresh but to refresh"
        case .seedReplaysExactly: "a seed replays exactly"
        }
    }
}

struct Violation {
    let rule: Rule
    let text: String
}

/// A world that breaks a promise on which AccountKit relies, so that a rule must be broken, and the simulation notices.
enum Mistake: String, CaseIterable, Sendable {
    /// The authority takes any failure of a refresh for the end of the session.
    case callsTroubleDefinite = "calls-trouble-definite"

    /// The storage lets everybody change the archive at once.
    case locksNobodyOut = "locks-nobody-out"

    /// The storage gives the lease of a refresh to everybody who asks.
    case leasesToAll = "leases-to-all"

    /// The authority throws away the response to a refresh once its caller has left.
    case cutsExchangesOff = "cuts-exchanges-off"

    /// Tokens that come after a sign-out, or after another's sign-in, are said to be revoked, and are not.
    case keepsLateTokens = "keeps-late-tokens"

    /// A signal ends the process at once, also while an exchange is under way.
    case diesAtOnce = "dies-at-once"

    /// The transport sends a request again that got no response.
    case sendsAgain = "sends-again"

    /// The storage loses the record of a refresh.
    case losesRecord = "loses-record"

    /// The storage compares no revisions, and its lock can be lost.
    case ignoresRevisions = "ignores-revisions"

    /// A write that is cut off leaves half a file.
    case tearsWrites = "tears-writes"

    /// The storage says that it has written, and has not.
    case forgetsWrites = "forgets-writes"

    /// A read without the lock gives what was there before.
    case readsTheOld = "reads-the-old"

    /// The storage tells nobody of changes.
    case tellsNobody = "tells-nobody"

    /// Who listens misses an event now and then.
    case losesEvents = "loses-events"

    /// Who listens gets events in the wrong order.
    case swapsEvents = "swaps-events"

    /// The storage does not let go of the lock of a process that died.
    case keepsLockOfTheDead = "keeps-lock-of-the-dead"

    /// The service is never told of a sign-out, and the client is told that it was.
    case dropsRevocations = "drops-revocations"

    /// What happens depends on more than the seed.
    case usesOtherRandomness = "uses-other-randomness"

    /// A change compares revisions only, and not whether its locks are still held.
    case commitsWithoutFence = "commits-without-fence"

    /// A change compares whose the locks are only, and neither their revisions nor the entry's.
    case commitsWithoutCompare = "commits-without-compare"

    /// From the intent on, the lease of a refresh is short, nothing keeps it alive, and its holder relies on it.
    case leaseIsNotKeptAlive = "lease-is-not-kept-alive"

    /// A refresh token is sent though its sender was stopped for longer than the lease lasts.
    case sendsUnderLostLease = "sends-under-lost-lease"

    /// A refresh token is sent though its sender was stopped between the check of its lease and the first byte.
    case sendsAfterStop = "sends-after-stop"

    /// A commit that arrives late is carried out, whatever was stored since.
    case lateWriterOverwrites = "late-writer-overwrites"

    /// What is read under the lock does not go into the replica, which is older than what the process knows then.
    case replicaMissesLockedReads = "replica-misses-locked-reads"

    /// Once the store is reached again it is given what the replica has.
    case writesReplicaBack = "writes-replica-back"

    /// A store that cannot be reached counts as one in which nobody is signed in.
    case takesUnreachableForSignedOut = "takes-unreachable-for-signed-out"

    /// The kind of storage that it needs; `nil` for any.
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

    /// The rules of which one at least must be seen to be broken.
    var breaks: Set<Rule> {
        switch self {
        case .callsTroubleDefinite: [.onlyUserOrRejectionClears]
        case .locksNobodyOut: [.refreshTokenIsSentOnce, .eventForEveryChange, .signOutReachesTheService]
        case .leasesToAll, .sendsAgain, .losesRecord: [.refreshTokenIsSentOnce]
        case .commitsWithoutFence, .leaseIsNotKeptAlive, .sendsUnderLostLease, .sendsAfterStop:
            [.refreshTokenIsSentOnce]
        case .commitsWithoutCompare: [.onlyUserOrRejectionClears, .nobodyElsesSessionIsTouched]
        case .lateWriterOverwrites, .writesReplicaBack: [.nobodyElsesSessionIsTouched]
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
        }
    }
}
