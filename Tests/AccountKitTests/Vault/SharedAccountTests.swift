import AccountTesting
import Foundation
import Synchronization
import Testing

@testable import AccountKit

struct SharedAccountTests {
    /// Uses separate threads, because the cooperative pool has only one for each processor.
    private static func onThreads(_ bodies: [@Sendable () -> Void]) {
        let done = DispatchSemaphore(value: 0)
        for body in bodies {
            Thread {
                body()
                done.signal()
            }.start()
        }
        for _ in bodies { done.wait() }
    }

    @Test func `Returns no earlier account to any thread after one reads a change`() {
        let shared = SharedAccount()
        let last: Int64 = 20_000
        let newest = Atomic<Int64>(0)
        let steps = Mutex((seen: 0, backwards: 0))
        let read: @Sendable () -> Void = {
            var (seen, backwards) = (0, 0)
            while newest.load(ordering: .acquiring) < last {
                let before = newest.load(ordering: .acquiring)
                guard let points = shared.account?.profile.points else { continue }
                if points < before { backwards += 1 }
                if points > before {
                    seen += 1
                    newest.max(points, ordering: .releasing)
                }
            }
            steps.withLock { $0 = ($0.seen + seen, $0.backwards + backwards) }
        }
        Self.onThreads([
            read, read, read,
            {
                for points in 1...last {
                    var account = Fixture.alice
                    account.profile = ["points": .integer(points)]
                    shared.publish(account, isSignIn: false)
                }
            },
        ])
        #expect(steps.withLock { $0.seen } > 0)
        #expect(steps.withLock { $0.backwards } == 0)
    }

    @Test func `Returns no account to any thread after a sign-out`() {
        let shared = SharedAccount()
        for _ in 0..<1000 {
            shared.publish(Fixture.alice, isSignIn: true)
            let seen = Mutex(0)
            let read: @Sendable () -> Void = { if shared.account != nil { seen.withLock { $0 += 1 } } }
            shared.publish(SignOut(.signedOutByUser, date: nil))
            Self.onThreads([read, read])
            #expect(seen.withLock { $0 } == 0)
        }
    }

    @Test func `Ignores a stale read of an account that was saved again`() {
        let shared = SharedAccount()
        // New tokens that could not be saved before and are saved now.
        shared.publish(Fixture.replaced, isSignIn: false)
        let before = shared.changeCount
        shared.publish(Fixture.replaced, isSignIn: false)
        #expect(!shared.publish(.present(Fixture.alice, Fixture.old), readSince: before))
        #expect(shared.account == Fixture.replaced)
        // A later read finds the stored account.
        #expect(shared.publish(.present(Fixture.replaced, Fixture.other), readSince: shared.changeCount))
    }
}
