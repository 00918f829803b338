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
                    let outcome = try await account.logIn(["--issuer", server.issuer]) { address in
                        try await waitUntil("the last program is started") {
                            FileManager.default.fileExists(atPath: container.path("user/opened"))
                        }
                        _ = try await HTTP.get(try await server.redirection(from: address))
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
