import AccountCommands
import AccountKit
import AccountSupport

/// The environment of the keep loop: a timer, and a receiver for reports.
protocol KeepSurroundings: Sendable {
    /// Sets the alarm, replacing an earlier one; `nil` for none.
    func setAlarm(_ date: Date?)

    func report(_ report: KeepReport)
}

enum KeepReport: Sendable {
    case written(KeptToken)
    case removed
    case needsPerson(KeepStateMachine.Need)
    /// A failure; `isFirst` is `false` for a repeated failure.
    case failed(AccountError, isFirst: Bool)
    case stopping
}

enum KeepInput: Sendable {
    case alarm
    /// The archive may have changed.
    case changed
    case refreshEnded(AccountError?)
    case signal(Int32)
}

enum KeepEnd: Sendable {
    /// The file is up to date, and the run is complete.
    case served
    /// There is no valid token. The error is `nil` if no user is signed in.
    case failed(AccountError?)
    case signal(Int32)
}

/// Keeps a valid token of a session in a file, until a signal arrives.
struct KeepLoop: Sendable {
    let store: AccountStore
    let file: TokenFile
    let kind: KeptToken.Kind
    let clock: any WallClock
    let surroundings: any KeepSurroundings
    let authority: @Sendable (Account) throws -> any AccountAuthority
    var afterRefresh: @Sendable (Account) async -> Void = { _ in }

    private let inputs: AsyncStream<KeepInput>
    private let continuation: AsyncStream<KeepInput>.Continuation

    init(
        store: AccountStore, file: TokenFile, kind: KeptToken.Kind, clock: any WallClock,
        authority: @escaping @Sendable (Account) throws -> any AccountAuthority,
        surroundings: (AsyncStream<KeepInput>.Continuation) throws -> any KeepSurroundings
    ) rethrows {
        self.store = store
        self.file = file
        self.kind = kind
        self.clock = clock
        self.authority = authority
        (inputs, continuation) = AsyncStream.makeStream(of: KeepInput.self)
        self.surroundings = try surroundings(continuation)
    }

    /// - Parameter isOnce: Whether to stop as soon as the file is up to date, and leave it in place.
    func run(isOnce: Bool = false) async -> KeepEnd {
        var machine = KeepStateMachine { Double.random(in: 0...1) }
        var inputs = inputs.makeAsyncIterator()
        var following = isOnce ? nil : follow()
        var refreshing: Task<Void, Never>?
        var failure: AccountError?
        var isSettled = false
        defer { following?.cancel() }

        machine.observe(await look(), at: clock.now)
        while true {
            while let action = machine.next(at: clock.now) {
                switch action {
                case .write(let token):
                    do {
                        try file.write(token.secret)
                        failure = nil
                        surroundings.report(.written(token))
                    } catch {
                        failure = error
                        machine.writeFailed(at: clock.now)
                        surroundings.report(.failed(error, isFirst: true))
                    }
                case .remove: remove()
                case .refresh(let token): refreshing = refresh(insteadOf: token)
                case .look: machine.observe(await look(), at: clock.now)
                case .call(let need): surroundings.report(.needsPerson(need))
                case .settle: isSettled = true
                }
            }
            if isOnce, isSettled { return end(machine, failure) }
            surroundings.setAlarm(machine.alarm)

            guard let input = await inputs.next() else { return .failed(nil) }
            switch input {
            case .alarm: break
            case .changed:
                let wasSignedIn = machine.observation?.token != nil
                machine.observe(await look(), at: clock.now)
                if !wasSignedIn, machine.observation?.token != nil, following != nil {
                    // If the folder is new, the kernel reports its changes only from now on.
                    following?.cancel()
                    following = follow()
                }
            case .refreshEnded(let error):
                machine.refreshEnded(error, pause: await store.refreshPause(), await look(), at: clock.now)
                if let error, machine.observation?.token != nil {
                    failure = error
                    surroundings.report(.failed(error, isFirst: machine.failureCount == 1))
                }
            case .signal(let number):
                if !isOnce { remove() }
                surroundings.report(.stopping)
                refreshing?.cancel()
                // The timeout of an exchange limits this wait.
                await store.finishPendingRequests()
                return .signal(number)
            }
        }
    }

    private func end(_ machine: KeepStateMachine, _ failure: AccountError?) -> KeepEnd {
        guard let observation = machine.observation, machine.kept == nil else {
            return .served
        }
        switch observation {
        case .token:
            let hint = CommandHint(session: store.session)
            return .failed(
                failure
                    ?? AccountError(
                        .notSignedIn, "the token has expired", hint: "sign in again with `\(hint.command("login"))`"))
        case .none(let error), .unreadable(let error): return .failed(error)
        case .signedOut: return .failed(nil)
        }
    }

    private func remove() {
        do {
            if try file.remove() { surroundings.report(.removed) }
        } catch {
            surroundings.report(.failed(error, isFirst: true))
        }
    }

    private func look() async -> KeepStateMachine.Observation {
        switch await store.load() {
        case .verified(let account), .unverified(let account, _):
            do {
                return .token(try KeptToken(kind, of: account.credentials, in: store.session))
            } catch {
                return .none(error)
            }
        case .signedOut(let signOut): return .signedOut(signOut)
        case .unreadable(let error): return .unreadable(error)
        }
    }

    /// Reports changes that other processes make to the session.
    private func follow() -> Task<Void, Never> {
        Task { [store, continuation] in
            await withTaskGroup { group in
                let events = store.events()
                group.addTask {
                    for await _ in events { continuation.yield(.changed) }
                }
                group.addTask {
                    while !Task.isCancelled {
                        // After any error, observe again.
                        try? await store.observeExternalChanges()
                        continuation.yield(.changed)
                        try? await Task.sleep(for: .seconds(5))
                    }
                }
            }
        }
    }

    private func refresh(insteadOf token: KeptToken) -> Task<Void, Never> {
        Task { [store, continuation, authority, kind, afterRefresh] in
            var refreshed: Account?
            var failure: AccountError?
            do {
                refreshed = try await store.renew(token, kind, with: authority)
            } catch {
                var wrapped = AccountError(wrapping: error)
                wrapped.nameSignIn(
                    command: CommandHint(session: store.session).command("login"), orReplaceTokenIn: nil)
                failure = wrapped
            }
            continuation.yield(.refreshEnded(failure))
            if let refreshed { await afterRefresh(refreshed) }
        }
    }
}
