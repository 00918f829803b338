import AccountCommands
import AccountKit
import Testing

@testable import AccountHelpers

struct GitConfigurationLockTests {
    @Test(
        arguments: [
            (["HOME": "/h"], [], "/h/.gitconfig"), (["HOME": "/h"], ["/h/.config/git/config"], "/h/.config/git/config"),
            (["HOME": "/h"], ["/h/.gitconfig", "/h/.config/git/config"], "/h/.gitconfig"),
            (["HOME": "/h", "XDG_CONFIG_HOME": "/x"], ["/x/git/config"], "/x/git/config"),
            (["HOME": "/h", "XDG_CONFIG_HOME": "/x"], ["/h/.config/git/config"], "/h/.gitconfig"),
            (["HOME": "/h", "GIT_CONFIG_GLOBAL": "/g"], ["/h/.gitconfig"], "/g"), ([:], [], nil),
        ] as [([String: String], [String], String?)])
    func `Finds the file that git changes`(variables: [String: String], files: [String], path: String?) {
        #expect(GitConfigurationLock.file({ variables[$0] }, exists: files.contains) == path)
    }

    @Test func `Names the file that blocks git, and the command that removes it`() {
        let lock = GitConfigurationLock(path: "/my home/.gitconfig.lock")
        #expect(lock.error.message == "git's configuration is locked, because /my home/.gitconfig.lock exists")
        #expect(lock.error.hint?.contains("`rm '/my home/.gitconfig.lock'`") == true)
        #expect(lock.finding.problem == lock.error.message && lock.finding.advice.hasPrefix(": if no git runs"))
    }
}
