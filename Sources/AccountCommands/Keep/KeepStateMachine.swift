import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What is to be done with a file that is to have a good token in it at all times. It does nothing itself.
///
/// Whoever runs it tells it what was observed, and performs what ``next(at:)`` says until that is nothing; then again at
/// ``alarm``.
struct KeepStateMachine {
    /// What was found when the archive was read.
    enum Observation {
        case token(KeptToken)
        /// Somebody is signed in, and there is no token of the kind that is wanted.
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
        /// Get another token than this one.
        case refresh(KeptToken)
        /// Read the archive again.
        case look
        case call(Need)
        /// It is known for the first time how things stand.
        case settle
    }

    /// What only a person can do something about.
    enum Need {
        case signIn(SignOut)
        case signInAgain(KeptToken)
        case repair(AccountError)
    }

    /// How long an archive that cannot be read is left alone: unlocking it is no change of it.
    static let pauseBetweenLooks: TimeInterval = 30

    private(set) var observation: Observation?

    /// What the file has in it; `nil` if there is none.
    private(set) var kept: KeptToken?

    /// How many refreshes of the observed token have failed in a row.
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
    // An earlier run that was killed may have left the file behind, with whatever there was then.
    private var mayBeStale = true

    /// - Parameter random: From 0 to 1, another one each time.
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

    /// - Parameters:
    ///   - failure: Why there is no other token.
    ///   - pause: How long the service is to be left alone, if it or another process said so.
    ///   - new: What was observed after it.
    mutating func refreshEnded(_ failure: AccountError?, pause: Duration?, _ new: Observation, at now: Date) {
        let old = refreshed
        refreshed = nil
        observe(new, at: now)
        guard let token = new.token, token == old else { return }
        if failure == nil {
            // New tokens came, but none of this kind (OpenID Connect Core, section 12.2): asking again changes nothing.
            isUnrenewable = true
        } else {
            failureCount += 1
            renewal = now.addingTimeInterval(max(pause?.seconds ?? 0, ownPause(token)))
        }
    }

    mutating func writeFailed(at now: Date) {
        kept = replaced
        writeFailureCount += 1
        nextWrite = now.addingTimeInterval(min(60, pow2(writeFailureCount)))
    }

    /// What to do now, one thing after the other; `nil` if there is nothing before ``alarm`` or the next observation.
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
            // Whoever signed out knows.
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

    /// When ``next(at:)`` may have something to do, if nothing happens before; `nil` is never.
    var alarm: Date? {
        var dates = [kept?.end, nextLook]
        if let token = observation?.token {
            if token.isRenewable, !isUnrenewable, !isRefreshing { dates.append(renewal) }
            if kept?.secret != token.secret { dates.append(nextWrite) }
        }
        return dates.compactMap(\.self).filter { $0 > .distantPast }.min()
    }

    /// When the service is asked for the next token.
    var nextRenewal: Date? {
        guard let token = observation?.token, token.isRenewable, !isUnrenewable else { return nil }
        return renewal
    }

    private mutating func removal() -> Action? {
        guard kept != nil || mayBeStale else { return nil }
        kept = nil
        mayBeStale = false
        return .remove
    }

    /// Once, until there is a good token again.
    private mutating func call(_ need: Need) -> Action? {
        guard !hasCalled else { return nil }
        hasCalled = true
        return .call(need)
    }

    /// Longer each time, but short enough for several tries before the token is over.
    private func ownPause(_ token: KeptToken) -> TimeInterval {
        let longest = min(60, max(2, (token.life ?? 0) / 20))
        return min(longest, pow2(failureCount)) * (0.5 + random() / 2)
    }

    private func pow2(_ count: Int) -> TimeInterval { TimeInterval(1 << min(count, 16)) }
}
