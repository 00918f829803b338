import AccountKit
import Logging
import Testing

@testable import AccountCommands

/// The sessions whose pending revocations a command sends.
struct RevocationSessionsTests {
    private enum Notes: AccountApplication {
        static let identifier = "com.example.notes"
        static func authority(for: AccountService, timeout: Duration, logger: Logger?) -> any AccountAuthority {
            preconditionFailure("no request is sent")
        }
    }

    @Test(arguments: [true, false])
    func `Checks the current session first, and each of a few other sessions once`(isRequested: Bool) throws {
        let work = try SessionName("work")
        let home = try SessionName("home")
        let checked = CommandContext<Notes>.sessionsToCheck(
            [.default, home, work], after: work, isRequested: isRequested)
        #expect(checked.first == work)
        #expect(checked.count == 3)
        #expect(Set(checked) == [.default, home, work])
    }

    @Test func `Checks the default session even if it is not listed`() throws {
        let work = try SessionName("work")
        let checked = CommandContext<Notes>.sessionsToCheck([work], after: work, isRequested: false)
        #expect(checked == [work, .default])
    }

    @Test func `Checks all of many sessions only on request`() throws {
        let sessions = try (1...1000).map { try SessionName("session-\($0)") }
        let some = CommandContext<Notes>.sessionsToCheck(sessions, after: .default, isRequested: false)
        #expect(some.count == 101)
        #expect(some.first == .default)
        #expect(Set(some).count == 101)
        let all = CommandContext<Notes>.sessionsToCheck(sessions, after: .default, isRequested: true)
        #expect(all == [.default] + sessions)
    }
}
