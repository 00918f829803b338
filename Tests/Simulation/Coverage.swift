/// What must have happened at some time for the simulation to be worth anything.
enum Occurrence: String, CaseIterable, Sendable {
    case signIn = "signed in"
    case signInOverOther = "signed in over somebody else"
    case signInOverUnreadable = "signed in over an archive that cannot be read"
    case putBack = "an archive was put back"
    case signOut = "signed out by the user"
    case definiteRefusalOfRefresh = "ended by the service: refresh"
    case definiteRefusalOfCheck = "ended by the service: check"
    case refresh = "refreshed"
    case adoption = "adopted what another process had got"
    case join = "joined a refresh under way"
    case verified = "confirmed by the service"
    case kept = "kept, though not confirmed"
    case update = "updated"
    case unsaved = "new tokens could not be saved"
    case unsavedSaved = "and were saved later"
    case trouble = "a request failed"
    case lostReply = "a reply was lost"
    case lateRequest = "a request arrived late"
    case reuse = "a spent refresh token came again"
    case revoked = "the service was told of a sign-out"
    case diskFault = "the disk failed"
    case unknownDurability = "durability unknown"
    case conflict = "a revision was not the stored one"
    case busy = "somebody lost patience with the lock"
    case lockLost = "a lock was lost"
    case damage = "an archive was damaged"
    case cancelled = "a task was cancelled"
    case clockForward = "the clock went forward"
    case clockBack = "the clock was set back"
    case crashWaitingForLock = "died waiting for the lock"
    case crashReading = "died while reading"
    case crashBeforeWrite = "died before a write"
    case crashAfterWrite = "died after a write"
    case crashBeforeRequest = "died before a request was carried out"
    case crashBeforeReply = "died between request and reply"
    case crashBeforeSave = "died between reply and write"
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
