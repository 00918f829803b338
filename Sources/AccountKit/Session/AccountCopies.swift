import Synchronization

/// The account as it is read: a copy for each of some processors, so that threads that read at the same time do not wait
/// for each other, neither for a lock nor for a count of references.
final class AccountCopies: Sendable {
    private final class Copy: Sendable {
        let account = Mutex<Account?>(nil)

        /// What another processor reads is on other cache lines (128 bytes with the one fetched beside it).
        private let padding: (Int128, Int128, Int128, Int128, Int128, Int128, Int128, Int128) = (0, 0, 0, 0, 0, 0, 0, 0)
    }

    /// A power of two, and 8 at most: more copies are no faster where more processors read all the time.
    private static let count = {
        var count = 1
        while count < min(SystemCall.processorCount, 8) { count *= 2 }
        return count
    }()

    private let copies: [Copy]
    private let mask: Int

    init() {
        copies = (0..<Self.count).map { _ in Copy() }
        mask = copies.count - 1
    }

    var account: Account? {
        copies[SystemCall.currentProcessor & mask].account.withLock { $0 }
    }

    /// Puts an account, or none, in place of the last one: whoever reads it is read by all from then on.
    func replace(with account: Account?) {
        replace(with: account, from: 0)
    }

    /// No copy can be read before the last of them is there.
    private func replace(with account: Account?, from index: Int) {
        guard index < copies.count else { return }
        copies[index].account.withLock { copy in
            copy = account?.withOwnStorage()
            replace(with: account, from: index + 1)
        }
    }
}
