import AccountKit

/// Watches the world, and knows what may not happen in it. It goes by what the disk and the service did, and not by what
/// AccountKit says.
///
/// @unchecked Sendable: as for `SimulatedProcess`.
final class Judge: @unchecked Sendable {
    /// What has been in `Account.plist`.
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

    /// Spent refresh tokens whose successors nobody may have: the reply was lost, the process died, or the disk failed.
    private var excused: Set<Tokens> = []

    /// Who asked for an access token.
    private var issued: [String: (process: SimulatedProcess, operation: Operation?)] = [:]

    /// Whether the queue of revocations could not be read by whoever held the lock. That stops no refresh, so a revocation
    /// of a sign-out that failed may outlive the tokens that it is about.
    var hasMissedRevocation = false

    /// Sign-ins that the service must know to be over, in the end.
    private(set) var mustEnd: [Int: Operation] = [:]

    private lazy var reader = AccountStore(
        storage: DiskReader(world: world), appIdentifier: "simulation", keySources: [SimulatedKey()])

    func violate(_ rule: Rule, _ text: String) {
        if violation == nil { violation = Violation(rule: rule, text: text) }
        world.note("VIOLATION of \(rule.rawValue) (\(rule.text)): \(text)")
    }

    /// What is on the disk now.
    private func readDisk() -> Version {
        guard world.entries[.account] != nil else { return .absent }
        let box = Box()
        Task.detached { [reader] in box.state = await reader.load() }
        world.runJobs()
        return box.state?.account.map { .present($0) } ?? .unreadable
    }

    // MARK: Changes of the disk

    func committed(_ turn: Turn) {
        let old = versions.last!
        versions.append(readDisk())
        guard let new = versions.last!.account, let operation = turn.operation else {
            violate(.memoryAndDiskAgree, "\(turn.process.name) wrote what cannot be read")
            return
        }
        if operation.kind == .signIn {
            if new.tokens != operation.obtained {
                violate(.nobodyElsesSessionIsTouched, "a sign-in saved \(new.token), which it did not get")
            }
            world.coverage.count(.signIn)
            if old.account.map({ !$0.isSameUser(as: new) }) ?? false { world.coverage.count(.signInOverOther) }
            return
        }
        guard let stored = old.account else {
            violate(.nobodyElsesSessionIsTouched, "\(operation.kind) brought back \(new.token)")
            return
        }
        guard new.isSameUser(as: stored), new.tokens.grant == stored.tokens.grant,
            new.tokens.access >= stored.tokens.access
        else {
            violate(.nobodyElsesSessionIsTouched, "\(operation.kind) put \(new.token) in place of \(stored.token)")
            return
        }
        let change: Int64 = operation.kind == .update ? 1 : 0
        let isTokenChange = new.tokens.access > stored.tokens.access
        if new.points != stored.points + change, !(isTokenChange && new.points == stored.points) {
            violate(.nobodyElsesSessionIsTouched, "\(operation.kind) made \(new.points) of \(stored.points) points")
        }
        let isNicknameKept = new.profile.nickname == stored.profile.nickname || operation.kind == .updateProfile
        if new.username != stored.username || !isNicknameKept {
            violate(.nobodyElsesSessionIsTouched, "\(operation.kind) changed a name of \(stored.token)")
        }
        if [.update, .updateProfile].contains(operation.kind) { world.coverage.count(.update) }
        if isTokenChange {
            world.coverage.count(turn.process.unsaved.contains(new.tokens) ? .unsavedSaved : .refresh)
        }
        if turn.process.unwritten?.tokens == new.tokens { turn.process.unwritten = nil }
    }

    func removed(_ turn: Turn) {
        let old = versions.last!
        versions.append(.absent)
        guard let stored = old.account else {
            violate(.onlyUserOrDefiniteRulingClears, "an archive that cannot be read was removed")
            return
        }
        if let operation = turn.operation, [.signOut, .signOutLocally].contains(operation.kind) {
            world.coverage.count(.signOut)
            if operation.kind == .signOut { mustEnd[stored.tokens.grant] = operation }
            return
        }
        // Of tokens that could not be saved the process knows better than the disk.
        let candidates = turn.process.unsaved.filter { $0.grant == stored.tokens.grant } + [stored.tokens]
        guard let refused = candidates.first(where: turn.process.refused.keys.contains) else {
            violate(
                .onlyUserOrDefiniteRulingClears,
                "\(stored.token) was cleared, and the service had not said that it is over"
            )
            return
        }
        world.coverage.count(turn.process.refused[refused]!)
    }

    /// An archive was put out of the way or back.
    func moved(_ turn: Turn) {
        if case .setAside = turn.call {
            if let stored = versions.last!.account, !world.weather.canLockBeLost {
                violate(.nobodyElsesSessionIsTouched, "\(stored.token) was put aside, and it can be read")
            }
            world.coverage.count(.signInOverUnreadable)
        }
        versions.append(readDisk())
    }

    /// Something else than AccountKit wrote to the disk.
    func damaged() { versions.append(.unreadable) }

    // MARK: The service

    func issued(_ tokens: Tokens, to turn: Turn) { issued["a\(tokens.text)"] = (turn.process, turn.operation) }

    func issued(_ token: String) -> (process: SimulatedProcess, operation: Operation?)? { issued[token] }

    /// A refresh is about tokens that it has read, and adopts others that have come in their place.
    func asks(_ turn: Turn, for tokens: Tokens) {
        guard let operation = turn.operation, !operation.read.contains(tokens), !turn.process.unsaved.contains(tokens)
        else { return }
        violate(.refreshTokenIsSentOnce, "r\(tokens.text) was sent, and it was other tokens that were to be refreshed")
    }

    /// The service is asked to exchange a refresh token.
    func redeems(_ tokens: Tokens) {
        guard world.service.isSpent(tokens) else { return }
        world.coverage.count(.reuse)
        // A lock that can be lost is not enough for this.
        guard !excused.contains(tokens), !world.weather.canLockBeLost else { return }
        violate(.refreshTokenIsSentOnce, "r\(tokens.text) came again, though its reply had come and could be saved")
    }

    func revokes(_ account: Account) {
        // Tokens that could not be saved are unlike the stored ones. If their process dies while it signs out, nobody can
        // tell that they are of the same sign-in; but then what is stored is spent anyway.
        guard let stored = versions.last!.account, stored.tokens.grant == account.tokens.grant,
            !world.service.isSpent(stored.tokens), !world.weather.canLockBeLost, !hasMissedRevocation
        else { return }
        violate(.nobodyElsesSessionIsTouched, "\(account.token) was revoked, and \(stored.token) is signed in")
    }

    /// A request was or may be carried out without its sender getting to know.
    func gaveUp(_ call: Call) {
        if case .refresh(let account) = call { excused.insert(account.tokens) }
    }

    func delivered(_ turn: Turn) {
        let process = turn.process
        switch turn.truth {
        case .renewed(let tokens, let spent):
            process.unwritten = (tokens, spent)
            if world.lockHolder?.process === process { world.lockHolder?.failureCount = 0 }
        case .refused(let tokens):
            if case .refresh = turn.call {
                process.refused[tokens] = .definiteRefusalOfRefresh
            } else {
                process.refused[tokens] = .definiteRefusalOfCheck
            }
        case nil: break
        }
        if case .read(.account) = turn.call, let tokens = turn.tokensRead { turn.operation?.read.insert(tokens) }
        // Only whoever follows reads outside of an operation.
        if case .read = turn.call, turn.operation == nil, case .failure? = turn.answer {
            process.hasMissedChange = true
        }
        if case .verify = turn.call, case .success? = turn.answer { world.coverage.count(.verified) }
    }

    func ended(_ transaction: ProcessTransaction) {
        let process = transaction.process
        guard let (tokens, spent) = process.unwritten else { return }
        process.unwritten = nil
        excused.insert(spent)
        process.unsaved.insert(tokens)
        world.coverage.count(.unsaved)
        if transaction.failureCount < 2, !world.weather.canLockBeLost {
            violate(
                .refreshTokenIsSentOnce, "the new tokens a\(tokens.text) were not saved, though the disk took writes")
        }
    }

    func died(_ process: SimulatedProcess, with turns: [Turn]) {
        if let (_, spent) = process.unwritten { excused.insert(spent) }
        for turn in turns {
            if case .renewed(_, let spent) = turn.truth { excused.insert(spent) }
        }
    }

    /// Whenever nobody holds the lock: if the stored refresh token is spent, a record says so.
    func checkAtRest() {
        guard world.lockHolder == nil, !world.weather.canLockBeLost, let stored = versions.last!.account,
            world.service.isSpent(stored.tokens), world.entries[.refreshRecord] == nil
        else { return }
        violate(.refreshTokenIsSentOnce, "\(stored.token) is stored, its refresh token is spent, and no record says so")
    }
}

extension Account {
    fileprivate var points: Int64 { profile.points ?? 0 }
}

private final class Box: @unchecked Sendable {
    // @unchecked Sendable: as for `SimulatedProcess`.
    var state: SessionState?
}

/// Reads the disk, and nobody's turn comes in between.
private struct DiskReader: ArchiveStorage {
    let world: World

    func read(_ entry: ArchiveEntry) async throws -> StoredEntry? { world.entries[entry] }

    func beginTransaction(patience: Duration) async throws -> any ArchiveTransaction {
        throw AccountError(.busy, "only reads")
    }

    func acquireRefreshLease(timeout: Duration) async throws -> any ArchiveLease {
        throw AccountError(.busy, "only reads")
    }

    func changes(of entry: ArchiveEntry) -> AsyncThrowingStream<Void, any Error> {
        AsyncThrowingStream { $0.finish() }
    }
}
