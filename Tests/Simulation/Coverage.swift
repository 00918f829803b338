/// What must have happened at some time for the simulation to be worth anything.
enum Occurrence: String, CaseIterable, Sendable {
    case signIn = "signed in"
    case signInOverOther = "signed in over somebody else"
    case signInOverUnreadable = "signed in over an archive that cannot be read"
    case restore = "an archive was restored"
    case signInByDevice = "signed in by device"
    case signInInterrupted = "a sign-in was interrupted after its request"
    case unstoredRevoked = "and its tokens were revoked"
    case replacedRevoked = "tokens of a sign-in that was replaced were revoked"
    case signOut = "signed out by the user"
    case signOutOfUnreadable = "signed out of an archive that cannot be read"
    case signOutDuringRefresh = "signed out during a refresh"
    case signInDuringRefresh = "signed in during a refresh"
    case changeDuringRefresh = "changed during a refresh"
    case lateTokensRevoked = "tokens that came too late were revoked"
    case definiteRefusalOfRefresh = "ended by the service: refresh"
    case definiteRefusalOfCheck = "ended by the service: check"
    case refresh = "refreshed"
    case derivation = "a token for another API was issued"
    case adoption = "adopted what another process had got"
    case join = "joined a refresh under way"
    case verified = "confirmed by the service"
    case kept = "kept, though not confirmed"
    case update = "updated"
    case unsaved = "new tokens could not be saved"
    case unsavedSaved = "and were saved later"
    case unsavedRevoked = "or were revoked"
    case trouble = "a request failed"
    case lostResponse = "a response was lost"
    case lateRequest = "a request arrived late"
    case reuse = "a spent refresh token came again"
    case lateResponse = "a response came that its caller had not waited for"
    case lateResponseStored = "and was stored"
    case callerLeft = "a caller left during an exchange"
    case leaseWaitedFor = "waited for another's refresh"
    case leftAlone = "the service was left alone after a failure"
    case signalHeldBack = "a signal was held back"
    case signalAfterExchange = "and ended the process after the exchange"
    case signalAtOnce = "a signal ended a process at once"
    case secondSignal = "a second signal did not wait"
    case revoked = "the service was told of a sign-out"
    case revocationPaused = "a revocation failed, and stayed in the queue"
    case revocationGivenUp = "a revocation was refused three times"
    case revocationSpared = "a revocation was not sent for the user's other sign-in"
    case revocationOvertaken = "a revocation was overtaken by a sign-in that it ended"
    case diskFault = "the disk failed"
    case unknownDurability = "durability unknown"
    case conflict = "a revision was not the stored one"
    case busy = "somebody lost timeout with the lock"
    case lockLost = "a lock was lost"
    case leaseLost = "a lease was lost"
    case damage = "an archive was damaged"
    case cancelled = "a task was cancelled"
    case clockForward = "the clock went forward"
    case clockBack = "the clock was set back"
    case crashWaitingForLock = "died waiting for the lock"
    case crashReading = "died while reading"
    case crashBeforeWrite = "died before a write"
    case crashAfterWrite = "died after a write"
    case crashBeforeRequest = "died before a request was carried out"
    case crashBeforeResponse = "died between request and response"
    case crashBeforeSave = "died between response and write"
    case crashWithUnsaved = "died with unsaved tokens in memory"
}

/// How often each thing happened.
struct Coverage: Sendable {
    private(set) var counts: [Int] = Array(repeating: 0, count: Occurrence.allCases.count)

    mutating func count(_ occurrence: Occurrence) {
        counts[Self.places[occurrence]!] += 1
    }

    mutating func add(_ other: Coverage) {
        for place in counts.indices { counts[place] += other.counts[place] }
    }

    private static let places = Dictionary(
        uniqueKeysWithValues: zip(Occurrence.allCases, Occurrence.allCases.indices))
}
