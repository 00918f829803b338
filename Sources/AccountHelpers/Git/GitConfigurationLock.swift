import AccountCommands
import AccountKit
import AccountSupport

/// The lock of git's configuration of the user. git creates this file before a change and renames it afterwards, so a crash
/// leaves it behind, and git then changes nothing.
struct GitConfigurationLock {
    let path: String

    /// Returns `nil` if there is no lock.
    static func found() -> GitConfigurationLock? {
        // git changes the target of a link, and locks it there.
        guard let file = file(Environment.value, exists: { (try? SystemCall.targetStatus($0)) ?? nil != nil }),
            let target = try? TrustedLinks.resolve(file), (try? SystemCall.status(target + ".lock")) ?? nil != nil
        else { return nil }
        return GitConfigurationLock(path: target + ".lock")
    }

    /// Returns the file that `git config --global` changes (git-config(1), "FILES"); `nil` without a home folder.
    static func file(_ variable: (String) -> String?, exists: (String) -> Bool) -> String? {
        if let file = variable("GIT_CONFIG_GLOBAL") { return file }
        guard let home = variable("HOME") else { return nil }
        let own = home + "/.gitconfig"
        let other = (variable("XDG_CONFIG_HOME") ?? home + "/.config") + "/git/config"
        return !exists(own) && exists(other) ? other : own
    }

    private var problem: String { "git's configuration is locked, because \(path) exists" }

    private var removal: String { "if no git runs, a crash has left the file: run `rm \(path.shellWord)`" }

    var error: AccountError { AccountError(.inaccessible, problem, hint: removal) }

    var finding: Finding { Finding(problem: problem, advice: ": \(removal)") }
}
