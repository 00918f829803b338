import AccountKit
import AccountSupport

/// Whether other people can read the arguments of this user's processes on this machine.
struct ArgumentPrivacy: Sendable {
    /// The files that describe the machine, each with its content, or `nil` if the file is missing or unreadable.
    let read: @Sendable (_ path: String) -> String?
    let user: UInt32

    /// Whether no other person can read the arguments: the system hides processes from other users (proc(5), `hidepid`),
    /// the process runs in a container, or the machine has no account of another person. If a file is not readable or not
    /// understood, the result is `false`.
    var hidesArguments: Bool { hidesProcesses || isInContainer || isOnlyPerson }

    static let current = ArgumentPrivacy(
        read: { path in
            guard let file = try? FileDescriptor.openForReading(path, followingLinks: true),
                let bytes = try? file.read(limit: 1 << 20, expected: 4096), bytes.count <= 1 << 20
            else { return nil }
            return String(decoding: bytes, as: UTF8.self)
        }, user: SystemCall.effectiveUser)

    private var hidesProcesses: Bool {
        // The last file system on a folder is the visible one (proc_pid_mountinfo(5)).
        let mounts = (read("/proc/self/mountinfo") ?? "").split(separator: "\n").filter {
            let fields = $0.split(separator: " ")
            return fields.count > 4 && fields[4] == "/proc"
        }
        guard let options = mounts.last?.split(separator: " ").last?.split(separator: ",") else { return false }
        let isHidden = options.contains {
            guard $0.hasPrefix("hidepid=") else { return false }
            return !["0", "off"].contains($0.dropFirst(8))
        }
        // The members of this group see all processes.
        return isHidden && !options.contains { $0.hasPrefix("gid=") && $0 != "gid=0" }
    }

    private var isInContainer: Bool {
        // Docker and Podman create these files, and systemd-nspawn and LXC set the variable of the first process.
        read("/.dockerenv") != nil || read("/run/.containerenv") != nil
            || read("/run/systemd/container")?.isEmpty == false
            || (read("/proc/1/environ") ?? "").split(separator: "\0").contains { $0.hasPrefix("container=") }
    }

    private var isOnlyPerson: Bool {
        // A directory service may have more users than the file.
        for line in (read("/etc/nsswitch.conf") ?? "").split(separator: "\n") where line.hasPrefix("passwd:") {
            let sources = line.dropFirst(7).prefix { $0 != "#" }.split { $0.isWhitespace || $0 == "[" }
            guard sources.allSatisfy({ ["files", "compat", "systemd", "altfiles"].contains($0) }) else { return false }
        }
        guard let accounts = read("/etc/passwd") else { return false }
        let others = accounts.split(separator: "\n").filter { line in
            let fields = line.split(separator: ":", omittingEmptySubsequences: false)
            // A line of another form, such as `+` of NIS, may stand for any user.
            guard fields.count == 7, let number = UInt32(fields[2]) else { return true }
            // login.defs(5), `UID_MIN`: the accounts of people. 65534 is the user `nobody`.
            guard number != user, number >= 1000, number != 65534 else { return false }
            return !["nologin", "false"].contains(fields[6].split(separator: "/").last ?? "")
        }
        return others.isEmpty
    }
}
