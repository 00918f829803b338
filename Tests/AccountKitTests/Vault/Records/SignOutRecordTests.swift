@testable import AccountKit
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct SignOutRecordTests {
    @Test(arguments: SignOut.Reason.allCases) func `Records a sign-out with its reason`(reason: SignOut.Reason)
        throws
    {
        let signOut = SignOut(
            reason, date: Date(timeIntervalSince1970: 1_893_499_200), issuer: "https://auth.example.com",
            detail: "invalid_grant", unfinishedRefresh: Date(timeIntervalSince1970: 1_893_499_100))
        #expect(SignOutRecord.decode(try SignOutRecord.encode(signOut)) == signOut)
        #expect(SignOutRecord.decode(try SignOutRecord.encode(SignOut(reason))) == SignOut(reason))
    }

    @Test(arguments: ["", "{}", "<plist><dict></dict></plist>", "bplist00", "\u{0}"])
    func `Decodes a damaged sign-out record as never signed in`(text: String) {
        #expect(SignOutRecord.decode(Array(text.utf8)) == .neverSignedIn)
        #expect(SignOutRecord.decode(nil) == .neverSignedIn)
        #expect(RefreshRecord.decode(Array(text.utf8)) == nil)
    }

    @Test(arguments: [
        "Your account was stolen: call +1 555", "see evil.example", "", "invalid grant",
        String(repeating: "a", count: 65),
    ])
    func `Drops a forged detail of a sign-out record unless it is an error code`(detail: String) throws {
        let forged = SignOut(.sessionEnded, issuer: "https://auth.example.com", detail: detail)
        let read = SignOutRecord.decode(try SignOutRecord.encode(forged))
        #expect(read.detail == nil)
        #expect(read.issuer == "https://auth.example.com")
    }

    @Test(arguments: ["Your bank", "https://auth.example.com is broken: call us", "javascript:alert(1)"])
    func `Drops a forged issuer of a sign-out record that is not a URL`(issuer: String) throws {
        let forged = SignOut(.sessionEnded, issuer: issuer, detail: "invalid_grant")
        let read = SignOutRecord.decode(try SignOutRecord.encode(forged))
        #expect(read.issuer == nil)
        #expect(read.detail == "invalid_grant")
    }
}
