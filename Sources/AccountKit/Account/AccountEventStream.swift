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
