import Testing

@testable import AccountCommands

/// Whether another person can read the arguments of a process on this machine.
@Suite struct ArgumentPrivacyTests {
    private static let alice = "alice:x:1000:1000::/home/alice:/bin/bash\n"
    private static let system =
        "root:x:0:0:root:/root:/bin/bash\nwww:x:33:33::/var/www:/usr/sbin/nologin\n"
        + "nobody:x:65534:65534::/nonexistent:/bin/sh\n"
    private static let bob = "bob:x:1001:1001::/home/bob:/bin/bash\n"
    private static let two = ["/etc/passwd": system + alice + bob]

    private static func mounts(_ lines: String...) -> [String: String] {
        two.merging(["/proc/self/mountinfo": lines.joined(separator: "\n") + "\n"]) { $1 }
    }

    private static func proc(_ options: String) -> String { "22 27 0:21 / /proc rw,relatime - proc proc \(options)" }

    static let rows: [(files: [String: String], isHidden: Bool)] = [
        // Nothing is known.
        ([:], false),
        // One person.
        (["/etc/passwd": system + alice], true), (["/etc/passwd": system], true),
        (["/etc/passwd": system + alice + "carol:x:1002:1002::/home/carol:/usr/sbin/nologin\n"], true),
        (["/etc/passwd": system + alice, "/etc/nsswitch.conf": "passwd: files systemd # local\n"], true),
        // More people, or an unknown number.
        (two, false), (["/etc/passwd": system + alice + "+::::::\n"], false), (["/etc/passwd": "garbled\n"], false),
        (["/etc/passwd": system + alice, "/etc/nsswitch.conf": "hosts: files\npasswd:\tfiles sss\n"], false),
        (["/etc/passwd": system + alice, "/etc/nsswitch.conf": "passwd: files [NOTFOUND=return] ldap\n"], false),
        // Hidden processes.
        (mounts(proc("rw,hidepid=2")), true), (mounts(proc("rw,hidepid=invisible")), true),
        (mounts(proc("rw,hidepid=1")), true), (mounts(proc("rw,gid=0,hidepid=ptraceable")), true),
        (mounts(proc("rw")), false), (mounts(proc("rw,hidepid=0")), false), (mounts(proc("rw,hidepid=off")), false),
        (mounts(proc("rw,gid=1001,hidepid=2")), false), (mounts(proc("rw,hidepid=2"), proc("rw")), false),
        (mounts("9 1 0:2 / /srv/proc rw - proc proc rw,hidepid=2"), false),
        // Containers.
        (two.merging(["/.dockerenv": ""]) { $1 }, true), (two.merging(["/run/.containerenv": ""]) { $1 }, true),
        (two.merging(["/run/systemd/container": "systemd-nspawn\n"]) { $1 }, true),
        (two.merging(["/proc/1/environ": "PATH=/bin\0container=lxc\0"]) { $1 }, true),
        (two.merging(["/proc/1/environ": "PATH=/bin\0mycontainer=lxc\0"]) { $1 }, false),
    ]

    @Test(arguments: rows)
    func `Arguments are hidden if no other person can read them`(files: [String: String], isHidden: Bool) {
        #expect(ArgumentPrivacy(read: { files[$0] }, user: 1000).hidesArguments == isHidden)
    }

    @Test func `Another user counts every person but itself`() {
        let files = ["/etc/passwd": Self.system + Self.alice]
        #expect(!ArgumentPrivacy(read: { files[$0] }, user: 0).hidesArguments)
        #expect(!ArgumentPrivacy(read: { files[$0] }, user: 1001).hidesArguments)
    }
}
