import AccountCommands
import AccountKit
import AccountSupport

/// Decides what to do with a file that must always contain a valid token. This type performs no actions itself.
///
/// The caller passes observations, and performs the actions of ``next(at:)`` until that method returns `nil`. At the
/// time of ``alarm``, the caller calls ``next(at:)`` again.
struct KeepStateMachine {
    enum Observation {
        case token(KeptToken)
        /// A user is signed in, but there is no token of the requested kind.
        case none(AccountError)
        case signedOut(SignOut)
        case unreadable(AccountError)

        var token: KeptToken? {
            if case .token(let token) = self { token } else { nil }
        }
    }

    enum Action {
        case write(KeptToken)
        case remove
        case refresh(KeptToken)
        /// Read the archive again.
        case look
        case call(Need)
        /// The state is known for the first time.
        case settle
    }

    /// A problem that only the user can solve.
    enum Need {
        case signIn(SignOut)
        case signInAgain(KeptToken)
        case repair(AccountError)
    }

    /// The time in seconds after which an unreadable archive is read again, because unlocking an archive does not
    /// change the file.
    static let pauseBetweenLooks: TimeInterval = 30

    private(set) var observation: Observation?

    private(set) var kept: KeptToken?

    /// The number of consecutive failed refreshes of the observed token.
    private(set) var failureCount = 0

    private let random: () -> Double
    private var refreshed: KeptToken?
    private var renewal: Date?
    private var isUnrenewable = false
    private var replaced: KeptToken?
    private var writeFailureCount = 0
    private var nextWrite = Date.distantPast
    private var nextLook: Date?
    private var hasCalled = false
    private var isSettled = false
    // An earlier run that was killed may have left a file with an outdated token.
    private var mayBeStale = true

    /// - Parameter random: Returns a new number from 0 to 1 each time.
    init(random: @escaping () -> Double) { self.random = random }

    var isRefreshing: Bool { refreshed != nil }

    mutating func observe(_ new: Observation, at now: Date) {
        if let token = new.token, token != observation?.token {
            renewal = token.renewal(random: random())
            failureCount = 0
            isUnrenewable = false
        }
        observation = new
        if case .unreadable = new { nextLook = now.addingTimeInterval(Self.pauseBetweenLooks) } else { nextLook = nil }
    }

    /// Records the end of a refresh. `pause` is the time to wait before the next request, if the service or another
    /// process requested a pause.
    mutating func refreshEnded(_ failure: AccountError?, pause: Duration?, _ new: Observation, at now: Date) {
        let old = refreshed
        refreshed = nil
        observe(new, at: now)
        guard let token = new.token, token == old else { return }
        if failure == nil {
            // The service issued new tokens, but none of this kind (OpenID Connect Core, section 12.2).
            isUnrenewable = true
        } else {
            failureCount += 1
            renewal = now.addingTimeInterval(max(pause?.seconds ?? 0, ownPause(token)))
        }
    }

    mutating func writeFailed(at now: Date) {
        kept = replaced
        writeFailureCount += 1
        nextWrite = now.addingTimeInterval(BackOff(first: 2, longest: 60).pause(after: writeFailureCount))
    }

    /// Returns the next action; `nil` if there is none before ``alarm`` or the next observation.
    mutating func next(at now: Date) -> Action? {
        guard let observation else { return nil }
        if kept?.isOver(at: now) == true {
            kept = nil
            return .remove
        }
        if let action = next(observation, at: now) { return action }
        guard isSettled || isRefreshing else {
            isSettled = true
            return .settle
        }
        return nil
    }

    private mutating func next(_ observation: Observation, at now: Date) -> Action? {
        switch observation {
        case .token(let token): return next(token, at: now)
        case .none(let error): return removal() ?? call(.repair(error))
        case .signedOut(let signOut):
            if let removal = removal() { return removal }
            // A user who signed out needs no notification.
            return signOut.reason == .signedOutByUser ? nil : call(.signIn(signOut))
        case .unreadable(let error):
            if mayBeStale { return removal() }
            if let nextLook, nextLook <= now {
                self.nextLook = nil
                return .look
            }
            return error.exitCode == 65 ? call(.repair(error)) : nil
        }
    }

    private mutating func next(_ token: KeptToken, at now: Date) -> Action? {
        if token.isOver(at: now) {
            if mayBeStale { return removal() }
            if !token.isRenewable || isUnrenewable, let call = call(.signInAgain(token)) { return call }
        } else if kept?.secret != token.secret {
            if nextWrite <= now {
                replaced = kept
                kept = token
                mayBeStale = false
                hasCalled = false
                return .write(token)
            }
        } else {
            kept = token
        }
        guard token.isRenewable, !isUnrenewable, !isRefreshing, let renewal else { return nil }
        guard renewal <= now || token.isFromFuture(at: now) && failureCount == 0 else { return nil }
        refreshed = token
        return .refresh(token)
    }

    /// The date from which ``next(at:)`` may return an action without a new observation; `nil` if there is no such
    /// date.
    var alarm: Date? {
        var dates = [kept?.end, nextLook]
        if let token = observation?.token {
            if token.isRenewable, !isUnrenewable, !isRefreshing { dates.append(renewal) }
            if kept?.secret != token.secret { dates.append(nextWrite) }
        }
        return dates.compactMap(\.self).filter { $0 > .distantPast }.min()
    }

    private mutating func removal() -> Action? {
        guard kept != nil || mayBeStale else { return nil }
        kept = nil
        mayBeStale = false
        return .remove
    }

    private mutating func call(_ need: Need) -> Action? {
        guard !hasCalled else { return nil }
        hasCalled = true
        return .call(need)
    }

    /// Returns a pause that grows with each failure, but allows several attempts before the token expires.
    private func ownPause(_ token: KeptToken) -> TimeInterval {
        let longest = min(60, max(2, (token.life ?? 0) / 20))
        return BackOff(first: 2, longest: longest).pause(after: failureCount) * (0.5 + random() / 2)
    }
}
