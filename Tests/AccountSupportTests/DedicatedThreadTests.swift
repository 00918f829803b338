import AccountSupport
import Foundation
import Testing

struct DedicatedThreadTests {
    @Test func `Runs the body of a dedicated thread on another thread`() async {
        let own = pthread_self()
        let isOther = await withCheckedContinuation { continuation in
            let failure = DedicatedThread.start {
                continuation.resume(returning: pthread_equal(pthread_self(), own) == 0)
            }
            if failure != 0 { continuation.resume(returning: false) }
        }
        #expect(isOther)
    }
}
