import AccountSupport

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Tokens that the service has not revoked yet, and the progress of their revocation.
struct QueuedRevocation: Sendable {
    /// The account of the tokens, without user name and profile.
    private(set) var account: Account

    /// The date when the tokens were queued; after a failed attempt to deliver them, the date when the first attempt
    /// failed.
    var date: Date

    /// Whether the entry waits until the user signs out. The entry waits if the same user has signed in again, at a
    /// service that may end all sign-ins of a user when it revokes the tokens of one sign-in.
    var waitsForSignOut: Bool

    var attemptCount = 0
    var refusalCount = 0

    var nextTry: Date?

    init(of account: Account, waitsForSignOut: Bool = false, at date: Date) {
        self.account = Account(id: account.id, issuer: account.issuer, credentials: account.credentials)
        self.waitsForSignOut = waitsForSignOut
        self.date = date
    }

    /// Records a failed attempt. A pause of one minute follows, which doubles each time, up to a day. There is no pause
    /// after the first attempt if the service did not refuse it.
    mutating func fail(isRefusal: Bool, at date: Date) {
        if attemptCount == 0 { self.date = date }
        attemptCount = min(attemptCount + 1, 1000)
        if isRefusal { refusalCount += 1 }
        let pause = BackOff(first: 60, longest: 86_400).pause(after: attemptCount)
        nextTry = attemptCount == 1 && !isRefusal ? nil : date.addingTimeInterval(pause)
    }

    /// Returns whether the next attempt is due. If its date is more than a day ahead, the clock was set back, and the
    /// attempt is due.
    func isDue(at date: Date) -> Bool {
        guard let nextTry else { return true }
        return !(0...86_400 ~= nextTry.timeIntervalSince(date)) || nextTry <= date
    }

    mutating func release() {
        waitsForSignOut = false
        attemptCount = 0
        nextTry = nil
    }
}

/// The record has the layout of an account's record, with the progress in the profile.
extension QueuedRevocation: SealedPayload {
    private enum Field {
        static let waitsForSignOut = "waitsForSignOut"
        static let attemptCount = "attempts"
        static let refusalCount = "refusals"
        static let nextTry = "nextTry"
    }

    static var sealedName: String { "a queued revocation" }

    var sealedRecord: [String: ProfileValue] {
        var stored = account
        stored.verifiedAt = date
        if waitsForSignOut { stored.profile[Field.waitsForSignOut] = .boolean(true) }
        if attemptCount > 0 { stored.profile[Field.attemptCount] = .integer(Int64(attemptCount)) }
        if refusalCount > 0 { stored.profile[Field.refusalCount] = .integer(Int64(refusalCount)) }
        stored.profile[Field.nextTry] = nextTry.map { .date($0) }
        return stored.sealedRecord
    }

    var sealedSecrets: [SealedSecret] {
        get { account.sealedSecrets }
        set { account.sealedSecrets = newValue }
    }

    init(record: [String: ProfileValue], secrets: [SealedSecret]) throws(RecordPropertyList.Malformed) {
        let stored = try Account(record: record, secrets: secrets)
        let progress = stored.profile
        self.init(
            of: stored, waitsForSignOut: progress[Field.waitsForSignOut] == .boolean(true),
            at: stored.verifiedAt ?? .distantPast)
        attemptCount = progress.count(Field.attemptCount)
        refusalCount = progress.count(Field.refusalCount)
        if case .date(let date)? = progress[Field.nextTry] { nextTry = date }
    }
}

extension UserProfile {
    fileprivate func count(_ name: String) -> Int {
        if case .integer(let count)? = self[name] { Int(clamping: count) } else { 0 }
    }
}
