import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Observes the world, and reports violated rules. The judge checks the actions of the disk and the service, not the reports of AccountKit.
///
/// @unchecked Sendable: as for `SimulatedProcess`.
final class Judge: @unchecked Sendable {
    /// All versions of `Account.plist`.
    enum Version {
        case absent
        case present(Account)
        case unreadable

        var account: Account? { if case .present(let account) = self { account } else { nil } }
        var isAbsent: Bool { if case .absent = self { true } else { false } }
    }

    unowned var world: World!
    var versions: [Version] = [.absent]
    private(set) var violation: Violation?

    /// Spent refresh tokens whose successors may be lost: the response was lost, the process died, or the disk failed.
    var excused: Set<Tokens> = []

    /// Sign-ins that may stay valid at the service although no process has them: their newest tokens are lost, nothing could be written, or
    /// ending them would end a stored sign-in.
    var excusedGrants: Set<Int> = []

    /// The process and the operation that obtained each access token.
    var issued: [String: (process: SimulatedProcess, operation: Operation?)] = [:]

    /// Whether the holder of the lock could not read the revocation queue. Refreshes continue, so the revocation of a failed sign-out may
    /// outlive its tokens.
    var hasMissedRevocation = false

    /// Whether a disk operation of a process has failed.
    var wasHindered = false

    /// The sign-ins that must have ended at the service at the end, and the sign-ins whose revocation the service received.
    var mustEnd: Set<Int> = []
    var told: Set<Int> = []

    /// The queue of revocations.
    var queue: [ArchiveEntry: QueuedTokens] = [:]

    /// The number of refused revocations.
    var refusals: [Tokens: Int] = [:]

    /// Sign-ins that were replaced by others.
    var replaced: Set<Int> = []

    /// The access tokens that no program may get: those of another type, and those of another user until the service confirms the
    /// user.
    var withheld: [String: Service.Oddity] = [:]

    /// The tokens of odd responses.
    var odd: Set<Tokens> = []

    private lazy var reader = AccountStore(
        storage: DiskReader(world: world), appIdentifier: "simulation", keys: [SimulatedKey()])

    func violate(_ rule: Rule, _ text: String) {
        if violation == nil { violation = Violation(rule: rule, text: text) }
        world.note("VIOLATION of \(rule.rawValue) (\(rule.text)): \(text)")
    }

    func readDisk() -> Version {
        guard world.entries[.account] != nil else { return .absent }
        let box = Box()
        Task.detached { [reader] in box.account = await reader.load().account }
        world.runJobs()
        return box.account.map { .present($0) } ?? .unreadable
    }

    /// Reads an entry of the revocation queue.
    func readQueue(_ entry: ArchiveEntry) -> QueuedTokens? {
        guard let stored = world.entries[entry] else { return nil }
        let box = Box()
        let reader = AccountStore(
            storage: QueueReader(entry: entry, stored: stored), appIdentifier: "simulation",
            keys: [SimulatedKey()])
        Task.detached {
            _ = await reader.deliverRevocations(
                with: {
                    box.account = $0
                    return nil
                }, ignoringPauses: true)
            box.revocation = try? await reader.pendingRevocations().first
        }
        world.runJobs()
        guard let account = box.account, let revocation = box.revocation else { return nil }
        return QueuedTokens(account: account, revocation: revocation)
    }

    // MARK: Changes of the disk

    func committed(_ turn: Turn) {
        let old = versions.last!
        versions.append(readDisk())
        guard let new = versions.last!.account else {
            violate(.memoryAndDiskAgree, "\(turn.process.name) wrote an unreadable entry")
            return
        }
        if !world.service.hasKey(new) {
            violate(.nobodyElsesSessionIsTouched, "\(turn.process.name) saved \(new.token) without its key")
        }
        if world.service.isNewest(new.tokens) {
            turn.process.inHand.remove(new.tokens.grant)
        }
        // A task that follows changes has no operation, and saves unsaved tokens.
        let operation = turn.operation
        let name = operation.map { "\($0.kind)" } ?? "a look at a change"
        if let operation, operation.kind.isSignIn {
            signedIn(new, over: old.account, operation)
            return
        }
        guard let stored = old.account else {
            violate(.nobodyElsesSessionIsTouched, "\(name) brought back \(new.token)")
            return
        }
        guard new.isSameUser(as: stored), new.tokens.grant == stored.tokens.grant,
            new.tokens.access >= stored.tokens.access
        else {
            violate(.nobodyElsesSessionIsTouched, "\(name) put \(new.token) in place of \(stored.token)")
            return
        }
        let change: Int64 = operation?.kind == .update ? 1 : 0
        let isTokenChange = new.tokens != stored.tokens
        if new.points != stored.points + change, !(isTokenChange && new.points == stored.points) {
            violate(.nobodyElsesSessionIsTouched, "\(name) made \(new.points) of \(stored.points) points")
        }
        let isNicknameKept = new.profile.nickname == stored.profile.nickname || operation?.kind == .updateProfile
        if new.username != stored.username || !isNicknameKept {
            violate(.nobodyElsesSessionIsTouched, "\(name) changed a name of \(stored.token)")
        }
        if [.update, .updateProfile].contains(operation?.kind) { world.coverage.count(.update) }
        if isTokenChange {
            world.coverage.count(turn.process.unsaved.contains(new.tokens) ? .unsavedSaved : .refresh)
            if new.credentials.proofKey != nil { world.coverage.count(.boundRefresh) }
            if odd.contains(new.tokens) { world.coverage.count(.oddResponseStored) }
            if operation?.lease?.isLost == true || turn.process.unsavedLate.contains(new.tokens) {
                world.coverage.count(.lateTokensSaved)
            }
        }
        if isTokenChange, operation?.outcome != nil { world.coverage.count(.lateResponseStored) }
        if !isTokenChange, isRefreshing(new.tokens.grant) { world.coverage.count(.changeDuringRefresh) }
        turn.process.unwritten.removeAll { $0.tokens == new.tokens }
    }

    private func signedIn(_ new: Account, over old: Account?, _ operation: Operation) {
        if new.tokens != operation.obtained {
            violate(.nobodyElsesSessionIsTouched, "a sign-in saved \(new.token), which it did not get")
        }
        if operation.mustNotStore {
            violate(.nobodyElsesSessionIsTouched, "a sign-in that was interrupted saved \(new.token)")
        }
        operation.hasStored = true
        world.coverage.count(operation.kind == .signIn ? .signIn : .signInByDevice)
        // Unsaved tokens are not revoked if other tokens of the same user are stored: both may belong to the same sign-in.
        for tokens in world.processes.flatMap(\.unsaved) where world.service.isSameUser(new.tokens.grant, tokens.grant)
        {
            excuse(tokens.grant)
        }
        guard let old else { return }
        replaced.insert(old.tokens.grant)
        if !old.isSameUser(as: new) { world.coverage.count(.signInOverOther) }
        if isRefreshing(old.tokens.grant) { world.coverage.count(.signInDuringRefresh) }
    }

    func isStored(_ grant: Int) -> Bool { versions.last!.account?.tokens.grant == grant }

    /// Whether a refresh is in progress.
    func isRefreshing(_ grant: Int) -> Bool {
        world.turns.contains { turn in
            turn.call.redeemed?.tokens.grant == grant
        }
    }

    func removed(_ turn: Turn) {
        let old = versions.last!
        versions.append(.absent)
        guard let stored = old.account else {
            violate(.onlyUserOrRejectionClears, "an archive that cannot be read was removed")
            return
        }
        if let operation = turn.operation, operation.kind.isSignOut {
            world.coverage.count(.signOut)
            if isRefreshing(stored.tokens.grant) { world.coverage.count(.signOutDuringRefresh) }
            if operation.kind == .signOut { mustEnd.insert(stored.tokens.grant) } else { excuse(stored.tokens.grant) }
            return
        }
        if stored.credentials.machine != nil {
            return violate(.onlyUserOrRejectionClears, "\(stored.token) was cleared, but it belongs to no user")
        }
        // The service may have rejected unsaved tokens of the process instead of the stored tokens.
        let candidates = turn.process.unsaved.filter { $0.grant == stored.tokens.grant } + [stored.tokens]
        guard let refused = candidates.first(where: turn.process.refused.keys.contains) else {
            violate(
                .onlyUserOrRejectionClears,
                "\(stored.token) was cleared, although the service had not ended it"
            )
            return
        }
        world.coverage.count(turn.process.refused[refused]!)
    }

    /// An archive was moved aside, or back.
    func moved(_ turn: Turn) {
        if case .quarantine(.account, _) = turn.call {
            if let stored = versions.last!.account, !world.weather.canLockBeLost {
                violate(.nobodyElsesSessionIsTouched, "\(stored.token) was moved aside, although it can be read")
            }
            let isSignOut = turn.operation?.kind.isSignOut ?? false
            world.coverage.count(isSignOut ? .signOutOfUnreadable : .signInOverUnreadable)
        }
        versions.append(readDisk())
    }

    /// Another program wrote to the disk.
    func damaged() {
        if let stored = versions.last!.account { excuse(stored.tokens.grant) }
        versions.append(.unreadable)
    }

    /// A process has read the account under the lock.
    func looked(_ transaction: ProcessTransaction) {
        if versions.last!.isUnreadable { transaction.lease?.failureCount += 2 }
        guard let operation = transaction.operation else { return }
        operation.lockedVersion = versions.count - 1
        // A token for another API may be obtained with any stored tokens, and a refresh continues with a refresh token that came with one.
        if transaction.lease != nil, let tokens = versions.last!.account?.tokens {
            let isSameAccess = operation.read.contains { $0.grant == tokens.grant && $0.access == tokens.access }
            if operation.kind == .derivedToken || isSameAccess { operation.read.insert(tokens) }
        }
        // A check that finds different tokens from those in its request begins again with them.
        if transaction.lease == nil, [.check, .checkIfOld].contains(operation.kind),
            let tokens = versions.last!.account?.tokens
        {
            operation.read.insert(tokens)
        }
        if operation.kind.isSignIn || operation.kind.isSignOut, let stored = versions.last!.account {
            operation.responsible.insert(stored.tokens.grant)
        }
    }
}

extension Account {
    fileprivate var points: Int64 { if case .integer(let points)? = profile["points"] { points } else { 0 } }
}
