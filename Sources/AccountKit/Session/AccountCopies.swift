import Synchronization

/// The account as it is read: a copy for each of some processors, so that threads that read at the same time seldom wait for
/// each other, neither for a lock nor for the count of the account's references.
final class AccountCopies: Sendable {
    private struct Copy: ~Copyable, Sendable {
        let account = Mutex<Account?>(nil)

        /// What another processor reads is on other cache lines (128 bytes with the one fetched beside it).
        private let padding: (Int128, Int128, Int128, Int128, Int128, Int128, Int128, Int128) = (0, 0, 0, 0, 0, 0, 0, 0)
    }

    // No array: what is taken out of one is an object, whose references would be counted at each read.
    private let copy0 = Copy()
    private let copy1 = Copy()
    private let copy2 = Copy()
    private let copy3 = Copy()
    private let copy4 = Copy()
    private let copy5 = Copy()
    private let copy6 = Copy()
    private let copy7 = Copy()

    /// As many as this machine needs.
    private static let usualCount = {
        var count = 1
        while count < min(SystemCall.processorNumberLimit, 8) { count *= 2 }
        return count
    }()

    private let mask: Int

    /// - Parameter count: How many copies are used: 1, 2, 4 or 8.
    init(count: Int = usualCount) { mask = count - 1 }

    var account: Account? { account(onProcessor: SystemCall.currentProcessor) }

    /// The account as it is read on the processor of this number.
    func account(onProcessor number: Int) -> Account? {
        withCopy(number & mask) { $0 }
    }

    /// Puts an account, or none, in place of the last one: once anyone reads it, everyone does.
    func replace(with account: Account?) {
        replace(with: account, from: 0)
    }

    /// No new copy can be read before the last of them is there.
    private func replace(with account: Account?, from index: Int) {
        guard index <= mask else { return }
        withCopy(index) { copy in
            copy = account?.withOwnStorage()
            replace(with: account, from: index + 1)
        }
    }

    private func withCopy<Result: Sendable>(_ index: Int, _ body: (inout Account?) -> Result) -> Result {
        switch index {
        case 0: copy0.account.withLock { body(&$0) }
        case 1: copy1.account.withLock { body(&$0) }
        case 2: copy2.account.withLock { body(&$0) }
        case 3: copy3.account.withLock { body(&$0) }
        case 4: copy4.account.withLock { body(&$0) }
        case 5: copy5.account.withLock { body(&$0) }
        case 6: copy6.account.withLock { body(&$0) }
        default: copy7.account.withLock { body(&$0) }
        }
    }
}
