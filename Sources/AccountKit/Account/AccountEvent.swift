/// A change of the shared account or of its state.
///
/// An event contains the user but no tokens, so buffered events keep no tokens in memory after a sign-out. To obtain
/// the tokens, read ``AccountStore/account``.
public enum AccountEvent: Sendable, Hashable {
    /// The store has read the archive, and this user is signed in.
    case loaded(Identity)

    /// A user signed in, here or in another process.
    case signedIn(Identity)

    /// New tokens of the same session replaced the tokens.
    case refreshed(Identity)

    /// The profile changed, or the service confirmed the account.
    case updated(Identity)

    /// The session ended, for this reason.
    case signedOut(SignOut)

    /// A change was saved, but for this reason the change may not survive a power cut.
    case durabilityUnknown(String)

    /// The number of events that were dropped before the next event, because the listener was slow. Read
    /// ``AccountStore/account`` for the current state.
    case missed(Int)

    init?(from old: Account?, to new: Account, isSignIn: Bool) {
        let user = Identity(new)
        guard let old else {
            self = isSignIn ? .signedIn(user) : .loaded(user)
            return
        }
        if old == new { return nil }
        if isSignIn || !old.isSameUser(as: new) {
            self = .signedIn(user)
        } else if !old.credentials.hasSameTokens(as: new.credentials) {
            self = .refreshed(user)
        } else {
            self = .updated(user)
        }
    }
}

/// The events of one listener, in order. The stream buffers the newest ``limit`` events, and
/// ``AccountEvent/missed(_:)`` replaces older events.
struct AccountEventStream: AsyncSequence, Sendable {
    typealias Element = AccountEvent
    typealias Failure = Never

    static let limit = 64

    /// An event, and the number of events before this event.
    typealias Numbered = (number: Int, event: AccountEvent)

    private let stream: AsyncStream<Numbered>

    static func make() -> (AccountEventStream, AsyncStream<Numbered>.Continuation) {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Numbered.self, bufferingPolicy: .bufferingNewest(limit))
        return (AccountEventStream(stream: stream), continuation)
    }

    func makeAsyncIterator() -> Iterator { Iterator(base: stream.makeAsyncIterator()) }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: AsyncStream<Numbered>.Iterator
        private var nextNumber = 0
        private var held: Numbered?

        fileprivate init(base: AsyncStream<Numbered>.Iterator) { self.base = base }

        mutating func next() async -> AccountEvent? { await next(isolation: nil) }

        mutating func next(isolation actor: isolated (any Actor)?) async -> AccountEvent? {
            var newest = held.take()
            if newest == nil { newest = await base.next(isolation: actor) }
            guard let newest else { return nil }
            let missed = newest.number - nextNumber
            nextNumber = newest.number
            if missed > 0 {
                held = newest
                return .missed(missed)
            }
            nextNumber += 1
            return newest.event
        }
    }
}
