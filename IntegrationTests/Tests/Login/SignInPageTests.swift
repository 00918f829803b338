@testable import EndToEndSupport
import Foundation
import Testing

/// Traces of `login --web` that other users of the machine can see. `RedirectPageTests` tests the page itself, and the
/// removal of the page of a killed process.
@Suite(.queued)
struct SignInPageTests {
    /// Installs a browser that records its argument and stays open.
    private func browser(in container: Container) async throws -> String {
        let program = container.path("browser")
        let script = """
            #!/bin/sh
            echo "$1" >"$HOME/argument.new" && mv "$HOME/argument.new" "$HOME/argument"
            read -r line <"$HOME/closed"

            """
        try container.write(script.utf8, to: program, permissions: 0o700)
        let fifo = try await Command(words: ["mkfifo", container.path("user/closed")]).run()
        try #require(fifo.exitCode == 0, "\(fifo)")
        return program
    }

    /// Ends the browser.
    private func close(in container: Container) {
        let end = open(container.path("user/closed"), O_WRONLY | O_NONBLOCK)
        #expect(end >= 0)
        Foundation.close(end)
    }

    /// The arguments of all processes (proc(5)).
    private func arguments() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { Int($0) != nil }.compactMap { process in
            // The process may have ended.
            FileManager.default.contents(atPath: "/proc/\(process)/cmdline").map { String(decoding: $0, as: UTF8.self) }
        }
    }

    @Test func `No process shows the secrets of a sign-in in its arguments`() async throws {
        try await Container.run { container in
            try await ExampleServer.run { server in
                let user = container.path("user")
                // Browsers in a sandbox can read this folder, if it exists.
                let place = user + "/Downloads"
                try FileManager.default.createDirectory(
                    atPath: place, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
                let program = try await browser(in: container)
                let account = try Tool.account(in: container).with("BROWSER", program)
                var page = ""
                let outcome = try await account.logIn(["--issuer", server.issuer]) { address in
                    try await waitUntil("the browser is started") {
                        FileManager.default.fileExists(atPath: user + "/argument")
                    }
                    let items = URLComponents(string: address)?.queryItems ?? []
                    let all = try arguments()
                    #expect(all.contains { $0.contains(program) })
                    for name in ["state", "nonce", "code_challenge"] {
                        let value = try #require(items.first { $0.name == name }?.value)
                        #expect(!all.contains { $0.contains(value) }, "\(name)")
                    }
                    let argument = try String(contentsOfFile: user + "/argument", encoding: .utf8).dropLast()
                    page = try #require(URL(string: String(argument))).path(percentEncoded: false)
                    #expect(URL(filePath: page).deletingLastPathComponent().path == place)
                    let entry = try #require(try container.entry(page))
                    #expect(entry.permissions == 0o600)
                    let text = String(decoding: entry.bytes, as: UTF8.self)
                    #expect(text.contains("url=" + address.replacing("&", with: "&amp;")))
                    _ = try await HTTP.get(try await server.redirection(from: address))
                }
                close(in: container)
                #expect(outcome.exitCode == 0, "\(outcome)")
                #expect(!page.isEmpty && !container.exists(page))
                #expect(try await account("whoami", "--verify").output == "alice\n")
            }
        }
    }

    @Test func `Opens no browser from a folder that others can write to`() async throws {
        try await Container.run { container in
            try await ExampleServer.run { server in
                let user = container.path("user")
                try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: user)
                let program = try await browser(in: container)
                let account = try Tool.account(in: container).with("BROWSER", program)
                let outcome = try await account.logIn(["--issuer", server.issuer]) { address in
                    _ = try await HTTP.get(try await server.redirection(from: address))
                }
                #expect(outcome.exitCode == 0, "\(outcome)")
                #expect(outcome.errors.contains("cannot open the browser automatically"), "\(outcome)")
                #expect(!container.exists(user + "/argument"))
            }
        }
    }

    // MARK: A browser on another machine

    /// Runs `login --web` where a process sees another machine: `people` are the accounts in its file of users.
    ///
    /// - Parameter browse: Receives the address, before the sign-in ends.
    private func logIn(
        _ account: Tool, at server: ExampleServer, in container: Container, people: [String],
        browse: @escaping @Sendable (_ address: String) async throws -> Void
    ) async throws -> Outcome {
        let users =
            ["root:x:0:0:root:/root:/bin/sh"]
            + people.enumerated().map { "\($1):x:\(2000 + $0):2000::/home/\($1):/bin/sh" }
        let file = container.path("users")
        try container.write((users.joined(separator: "\n") + "\n").utf8, to: file, permissions: 0o644)
        // The marks of a container are not copied: /.dockerenv, /run, and the variables of the first process.
        let machine = """
            root='\(container.path("root"))'
            mkdir "$root"
            mount -t tmpfs tmpfs "$root"
            for entry in /*; do
                if [ -L "$entry" ]; then cp -P "$entry" "$root$entry"
                elif [ "$entry" = /run ]; then mkdir "$root$entry"
                elif [ -d "$entry" ]; then mkdir "$root$entry"; mount --rbind "$entry" "$root$entry"
                fi
            done
            mount --bind '\(file)' "$root/etc/passwd"
            mount --bind /dev/null "$root/proc/1/environ"
            set -- chroot "$root" "$@"
            """
        let login = account.command(["login", "--web", "--issuer", server.issuer]).run(inMountsOfItsOwn: machine)
        return try await login.whileRunning { running in
            let address = try await running.errors.match { $0.firstMatch(of: /\n +(http\S+)\n/).map { String($0.1) } }
            try await browse(address)
            _ = try await HTTP.get(try await server.redirection(from: address))
        }
    }

    /// Helpers of an editor on another machine, and programs that open pages in Windows.
    private static let elsewhere: [[String: String]] = [
        ["VSCODE_IPC_HOOK_CLI": "/run/ipc.sock"], ["CODESPACES": "true"], ["WSL_DISTRO_NAME": "Debian"],
    ]

    @Test(arguments: elsewhere)
    func `A browser elsewhere gets the address if no other person sees it`(variables: [String: String]) async throws {
        try await Container.run { container in
            try await ExampleServer.run { server in
                let user = container.path("user")
                var account = try Tool.account(in: container).with("BROWSER", try await browser(in: container))
                for (name, value) in variables { account = account.with(name, value) }
                let outcome = try await logIn(account, at: server, in: container, people: []) { address in
                    try await waitUntil("the browser is started") {
                        FileManager.default.fileExists(atPath: user + "/argument")
                    }
                    #expect(try String(contentsOfFile: user + "/argument", encoding: .utf8) == address + "\n")
                }
                close(in: container)
                #expect(outcome.exitCode == 0, "\(outcome)")
                #expect(!outcome.errors.contains("on another machine"), "\(outcome)")
            }
        }
    }

    @Test func `Only shows the address if other people would see it in arguments`() async throws {
        try await Container.run { container in
            try await ExampleServer.run { server in
                let program = try await browser(in: container)
                let account = try Tool.account(in: container).with("BROWSER", program).with("CODESPACES", "true")
                let outcome = try await logIn(account, at: server, in: container, people: ["ann", "ben"]) { _ in }
                #expect(outcome.exitCode == 0, "\(outcome)")
                #expect(outcome.errors.contains("the browser is on another machine"), "\(outcome)")
                #expect(!container.exists(container.path("user/argument")))
            }
        }
    }

    /// Scripts in place of the programs that open pages, and the expected calls with the page as `PAGE`.
    private static let programsUnderWSL: [(scripts: [String: String], calls: String)] = {
        let opened = #": >"$HOME/opened""#
        return [
            (["wslview": opened, "xdg-open": "exit 1"], "wslview PAGE\n"),
            // `explorer.exe` fails even if it has opened the page.
            (
                [
                    "wslview": "exit 1", "wslpath": #"echo '\\wsl.localhost\Debian'"$2""#,
                    "explorer.exe": "\(opened); exit 1", "xdg-open": "exit 1",
                ], "wslpath -w PAGE\nwslview PAGE\nexplorer.exe PAGE\n"
            ),
            (["wslview": "exit 1", "xdg-open": opened], "wslview PAGE\nxdg-open PAGE\n"),
            // A program that reads the address from standard input.
            (
                ["wslview": "exit 1", "powershell.exe": "grep -c code_challenge >>\"$HOME/calls\"; \(opened)"],
                "wslview PAGE\npowershell.exe -NoProfile -NonInteractive -Command Start-Process ([Console]::In.ReadLine())\n1\n"
            ),
        ]
    }()

    @Test func `Opens the page in Windows under WSL`() async throws {
        try await ExampleServer.run { server in
            for (scripts, expected) in Self.programsUnderWSL {
                try await Container.run { container in
                    let programs = container.path("programs")
                    try FileManager.default.createDirectory(atPath: programs, withIntermediateDirectories: false)
                    for (name, script) in scripts {
                        let text = "#!/bin/sh\necho \"\(name) $*\" >>\"$HOME/calls\"\n\(script)\n"
                        try container.write(text.utf8, to: "\(programs)/\(name)", permissions: 0o700)
                    }
                    var account = try Tool.account(in: container).with("WSL_DISTRO_NAME", "Debian").with("BROWSER", "")
                    account = Tool(
                        path: "env", environment: account.environment,
                        prefix: ["PATH=\(programs):\(Command.searchPath)", account.path])
                    let people = ["ann", "ben"]
                    let outcome = try await logIn(account, at: server, in: container, people: people) { _ in
                        try await waitUntil("the last program is started") {
                            FileManager.default.fileExists(atPath: container.path("user/opened"))
                        }
                    }
                    #expect(outcome.exitCode == 0, "\(outcome)")
                    let calls = try String(contentsOfFile: container.path("user/calls"), encoding: .utf8)
                        .replacing(/\S*account-sign-in-[0-9a-f]{16}\.html/, with: "PAGE")
                    #expect(calls == expected)
                }
            }
        }
    }
}
