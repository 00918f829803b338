@testable import AccountKit
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A call of a session flow to its effects.
enum EffectCall: Sendable {
    /// The result is `content`.
    case load

    /// Acquires the lock. The result is `done` or `failed`.
    case beginTransaction

    /// Acquires the lock with a short timeout. The result is `done` or `failed`.
    case beginTransactionSoon

    /// Releases the lock, after which the flow continues. The result is `done`.
    case endTransaction

    /// The result is `done` or `failed`.
    case renewLease

    /// The result is `done`, `refused` or `postponed`.
    case prepareExchange(Account, Derivation?)

    /// The result is `done` or `failed`.
    case prepareSave

    /// Begins an exchange that spends the refresh token. The result is `intentRecorded`, `postponed` or `failed`.
    case recordIntent

    /// Begins an exchange that spends no refresh token. The result is `intentRecorded`, `postponed` or `failed`.
    case beginExchange

    /// The result is `done` or `failed`.
    case recordFailure(UnverifiedReason, mayBeSpent: Bool)

    /// The result is `done` or `failed`.
    case forgetRefreshRecord

    /// The result is `verified` or `refused`.
    case verify(Account)

    /// The result is `renewed` or `refused`.
    case requestTokens(Account)

    /// The result is `renewed` or `refused`.
    case exchangeToken(Account, Derivation)

    /// The result is `refreshEnded`.
    case refresh(Account)

    /// The result is `saved` or `failed`.
    case save(Account, ifRevision: ArchiveRevision)

    /// The result is `queued` or `failed`.
    case queueRevocation(Account, isSignOut: Bool)

    /// The result is `done` or `failed`.
    case withdrawRevocation(Account)

    /// The result is `done`.
    case revoke(Account, RevocationQueue.Record?)

    /// The result is `done`.
    case keepUnsaved(Account, inPlaceOf: Account, ifRevision: ArchiveRevision)

    /// The result is `quarantined` or `failed`.
    case quarantine(SignOut)

    /// The result is `done` or `failed`.
    case clear(SignOut, ifRevision: ArchiveRevision)

    /// The result is `done` or `failed`.
    case forgetEndedUser

    /// The flow has ended.
    case finish

    var name: String {
        switch self {
        case .load: "load"
        case .beginTransaction: "begin"
        case .beginTransactionSoon: "begin soon"
        case .endTransaction: "end"
        case .renewLease: "renew lease"
        case .prepareExchange: "prepare exchange"
        case .prepareSave: "prepare save"
        case .recordIntent: "record intent"
        case .beginExchange: "begin exchange"
        case .recordFailure: "record failure"
        case .forgetRefreshRecord: "forget refresh record"
        case .verify: "verify"
        case .requestTokens: "request tokens"
        case .exchangeToken: "derive token"
        case .refresh: "refresh"
        case .save: "save"
        case .queueRevocation: "queue revocation"
        case .withdrawRevocation: "withdraw revocation"
        case .revoke: "revoke"
        case .keepUnsaved: "keep unsaved"
        case .quarantine: "quarantine"
        case .clear: "clear"
        case .forgetEndedUser: "forget ended user"
        case .finish: "finish"
        }
    }
}

/// The result of a call.
enum EffectResult: Sendable {
    case done
    case failed(AccountError)
    case content(Vault.Content)
    case verified(Identity)
    case renewed(Credentials)
    case refused(AuthorityError)
    case refreshEnded(RefreshOutcome)
    case saved(Account)
    case queued(RevocationQueue.Record)
    case quarantined(place: String)
    case intentRecorded(unfinished: Date?)
    case postponed(UnverifiedReason)
}

/// Answers the calls of a session flow from a script.
///
/// When the script ends, the flow is abandoned: all further calls fail, so that it ends soon, and its outcome is
/// ignored.
final class ScriptedEffects: FlowVault, FlowDraft, FlowService {
    private let script: (EffectCall, Int) -> EffectResult?
    private var callCount = 0

    /// The call at which the script ended.
    private(set) var unanswered: EffectCall?

    /// Whether the flow has released the lock. It counts as a call only if the flow continues.
    private var hasReleasedLock = false

    private static var abandoned: AccountError { AccountError(.busy, "the script has ended") }

    /// - Parameter script: Returns the result of a call, or `nil` to end the script. Its parameters are the call and
    ///   the number of earlier calls.
    init(script: @escaping (EffectCall, Int) -> EffectResult?) { self.script = script }

    /// - Returns: The result, or `nil` if the flow is abandoned.
    private func perform(_ call: EffectCall) -> EffectResult? {
        guard unanswered == nil else { return nil }
        if hasReleasedLock {
            hasReleasedLock = false
            // A lease is renewed without the lock.
            if case .renewLease = call {} else if answer(.endTransaction) == nil { return nil }
        }
        return answer(call)
    }

    private func answer(_ call: EffectCall) -> EffectResult? {
        let result = script(call, callCount)
        callCount += 1
        if result == nil { unanswered = call }
        return result
    }

    private func unexpected(_ result: EffectResult) {
        Issue.record("\(result) is not a result of call \(callCount)")
    }

    /// For calls that either succeed or fail.
    private func attempt(_ call: EffectCall) throws(AccountError) {
        switch perform(call) {
        case .done?: return
        case .failed(let error)?: throw error
        case nil: throw Self.abandoned
        case let result?: unexpected(result)
        }
    }

    func read() async -> Vault.Content {
        switch perform(.load) {
        case .content(let content)?: return content
        case nil: return .absent(.neverSignedIn)
        case let result?:
            unexpected(result)
            return .absent(.neverSignedIn)
        }
    }

    func change<Value>(
        _ patience: Patience, _ body: (any FlowDraft) async -> Value
    ) async throws(AccountError) -> Value {
        try attempt(patience == .brief ? .beginTransactionSoon : .beginTransaction)
        let value = await body(self)
        hasReleasedLock = true
        return value
    }

    func renewLease() async throws(AccountError) { try attempt(.renewLease) }

    func prepareExchange(
        _ grant: RefreshGrant, of account: Account, after failureCount: Int
    ) async throws(AuthorityError) -> UnverifiedReason? {
        switch perform(.prepareExchange(account, grant.derivation)) {
        case .done?: return nil
        case .postponed(let reason)?: return reason
        case .refused(let failure)?: throw failure
        case nil: throw .noResponse(.cancelled)
        case let result?:
            unexpected(result)
            return nil
        }
    }

    func requestTokens(_ grant: RefreshGrant, of account: Account) async throws(AuthorityError) -> Credentials {
        switch perform(grant.derivation.map { .exchangeToken(account, $0) } ?? .requestTokens(account)) {
        case .renewed(let credentials)?: return credentials
        case .refused(let failure)?: throw failure
        case nil: throw .noResponse(.cancelled)
        case let result?:
            unexpected(result)
            throw .noResponse(.cancelled)
        }
    }

    func verify(_ account: Account) async throws(AuthorityError) -> Identity {
        switch perform(.verify(account)) {
        case .verified(let identity)?: return identity
        case .refused(let failure)?: throw failure
        case nil: throw .noResponse(.cancelled)
        case let result?:
            unexpected(result)
            throw .noResponse(.cancelled)
        }
    }

    func refresh(_ account: Account) async -> RefreshOutcome {
        switch perform(.refresh(account)) {
        case .refreshEnded(let outcome)?: return outcome
        case nil: return .kept(account, .init(.cancelled))
        case let result?:
            unexpected(result)
            return .kept(account, .init(.cancelled))
        }
    }

    func revoke(_ account: Account, _ pending: RevocationQueue.Record?) async {
        try? attempt(.revoke(account, pending))
    }

    func keepUnsaved(_ account: Account, inPlaceOf spent: Account, ifRevision revision: ArchiveRevision) {
        try? attempt(.keepUnsaved(account, inPlaceOf: spent, ifRevision: revision))
    }

    func prepareSave() async throws(AccountError) { try attempt(.prepareSave) }

    /// Committing is not a call of its own, since it belongs to the beginning of the exchange.
    func commitExchange() {}

    func beginExchange(
        isSpending: Bool, after failureCount: Int, committing commit: () throws -> Void
    ) async throws(AccountError) -> ExchangeStart {
        switch perform(isSpending ? .recordIntent : .beginExchange) {
        case .intentRecorded(let unfinished)?: return .begun(unfinished: unfinished)
        case .postponed(let reason)?: return .paused(reason)
        case .failed(let error)?: throw error
        case nil: throw Self.abandoned
        case let result?:
            unexpected(result)
            throw Self.abandoned
        }
    }

    func recordFailure(_ reason: UnverifiedReason, mayBeSpent: Bool) async throws(AccountError) {
        try attempt(.recordFailure(reason, mayBeSpent: mayBeSpent))
    }

    func forgetRefreshRecord() async throws(AccountError) { try attempt(.forgetRefreshRecord) }

    func save(_ account: Account, ifRevision revision: ArchiveRevision) async throws(AccountError) -> Account {
        switch perform(.save(account, ifRevision: revision)) {
        case .saved(let saved)?: return saved
        case .failed(let error)?: throw error
        case nil: throw Self.abandoned
        case let result?:
            unexpected(result)
            throw Self.abandoned
        }
    }

    func queueRevocation(
        _ account: Account, isSignOut: Bool
    ) async throws(AccountError) -> RevocationQueue.Record {
        switch perform(.queueRevocation(account, isSignOut: isSignOut)) {
        case .queued(let pending)?: return pending
        case .failed(let error)?: throw error
        case nil: throw Self.abandoned
        case let result?:
            unexpected(result)
            throw Self.abandoned
        }
    }

    func withdrawRevocation(_ account: Account) async throws(AccountError) {
        try attempt(.withdrawRevocation(account))
    }

    func quarantine(_ signOut: SignOut) async throws(AccountError) -> String {
        switch perform(.quarantine(signOut)) {
        case .quarantined(let place)?: return place
        case .failed(let error)?: throw error
        case nil: throw Self.abandoned
        case let result?:
            unexpected(result)
            throw Self.abandoned
        }
    }

    func clear(_ signOut: SignOut, ifRevision revision: ArchiveRevision) async throws(AccountError) {
        try attempt(.clear(signOut, ifRevision: revision))
    }

    func forgetEndedUser() async throws(AccountError) -> Bool {
        try attempt(.forgetEndedUser)
        return true
    }
}
