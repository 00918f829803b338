import AccountKit
import AccountTesting
import Testing

struct SessionStateTests {
    @Test func `Counts a user as signed in only if the account was read`() {
        let account = Account.fresh(at: ManualClock().now)
        #expect(SessionState.verified(account).isSignedIn)
        #expect(SessionState.unverified(account, UnverifiedReason(.offline)).isSignedIn)
        #expect(!SessionState.signedOut(.neverSignedIn).isSignedIn)
        #expect(!SessionState.unreadable(AccountError(.noKey, "no key")).isSignedIn)
    }
}
