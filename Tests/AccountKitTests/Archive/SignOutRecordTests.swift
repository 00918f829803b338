@testable import AccountKit
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct SignOutRecordTests {
    @Test(arguments: SignOut.Reason.allCases) func `A sign-out is recorded with its reason`(reason: SignOut.Reason)
        throws
    {
        let signOut = SignOut(
            reason, date: Date(timeIntervalSince1970: 1_893_499_200), issuer: "https://auth.example.com",
            detail: "invalid_grant", unfinishedRefresh: Date(timeIntervalSince1970: 1_893_499_100))
        #expect(SignOutRecord.decode(try SignOutRecord.encode(signOut)) == signOut)
        #expect(SignOutRecord.decode(try SignOutRecord.encode(SignOut(reason))) == SignOut(reason))
    }

    @Test(arguments: ["", "{}", "<plist><dict></dict></plist>", "bplist00", "\u{0}"])
    func `A record that is none says nothing, and fails nothing`(text: String) {
        #expect(SignOutRecord.decode(Array(text.utf8)) == .neverSignedIn)
        #expect(SignOutRecord.decode(nil) == .neverSignedIn)
        #expect(RefreshRecord.decode(Array(text.utf8)) == nil)
    }
}
