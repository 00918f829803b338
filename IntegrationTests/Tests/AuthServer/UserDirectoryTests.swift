import Testing

@testable import auth_server

@Suite("User directory")
struct UserDirectoryTests {
    @Test(
        "Compares passwords up to the last character",
        arguments: ["", "hunter2", "hunter2 but longer ", "hunter2 but longes"])
    func refuses(password: String) {
        #expect(UserDirectory().user(named: "bob", password: password) == nil)
    }

    @Test("An unknown user cannot sign in with an empty password")
    func refusesUnknownUsers() {
        #expect(UserDirectory().user(named: "mallory", password: "") == nil)
    }

    @Test("Demo users have unique subjects that are the same in every run")
    func addsUsers() throws {
        let carol = try #require(DemoUser("carol:s3cret:with colon"))
        let dave = try #require(DemoUser("dave:x"))
        let users = UserDirectory(demoUsers: [carol, dave])
        let user = try #require(users.user(named: "carol", password: "s3cret:with colon"))
        #expect(user.subject == UserDirectory(demoUsers: [dave, carol])["carol"]?.subject)
        #expect(Set(["alice", "bob", "carol", "dave"].compactMap { users[$0]?.subject }).count == 4)
        #expect(Set(["alice", "bob", "carol", "dave"].compactMap { users[$0]?.id }).count == 4)
    }

    @Test("A demo user with an existing name changes only the password")
    func replacesPasswords() throws {
        let users = UserDirectory(demoUsers: [try #require(DemoUser("alice:new"))])
        #expect(users.user(named: "alice", password: API.alicePassword) == nil)
        #expect(users.user(named: "alice", password: "new")?.subject == UserDirectory()["alice"]?.subject)
    }

    @Test("A demo user without a name or password is rejected", arguments: ["", "carol", ":x", "carol:"])
    func refusesHalfUsers(text: String) {
        #expect(DemoUser(text) == nil)
    }
}
