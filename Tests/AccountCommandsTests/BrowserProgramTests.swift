import AccountSupport
import Testing

@testable import AccountCommands

/// Which program opens the page of a sign-in, and whether it gets a file, or the address that only its user may see.
@Suite struct BrowserProgramTests {
    typealias Input = BrowserProgram.Input

    struct Row: CustomTestStringConvertible {
        var variables: [String: String]
        /// The programs with what each of them gets, if no other user can read the arguments.
        var hidden: [String: Input]
        /// The same, if other users can read the arguments.
        var visible: [String: Input]
        var testDescription: String { "\(variables.sorted { $0.key < $1.key })" }

        init(_ variables: [String: String], _ hidden: [String: Input], visible: [String: Input]? = nil) {
            (self.variables, self.hidden, self.visible) = (variables, hidden, visible ?? hidden)
        }
    }

    private static let helper = "/home/a/.vscode-server/bin/1/bin/helpers/browser.sh"

    static let rows: [Row] = [
        // The browser is on this machine.
        Row([:], ["xdg-open": .pageURL]),
        Row(["DISPLAY": ":0"], ["xdg-open": .pageURL]),
        Row(["BROWSER": "firefox"], ["firefox": .pageURL, "xdg-open": .pageURL]),
        Row(["BROWSER": "firefox", "DISPLAY": ":0"], ["firefox": .pageURL, "xdg-open": .pageURL]),
        // X11 over SSH shows the browser of this machine.
        Row(
            ["BROWSER": "firefox", "SSH_CONNECTION": "1 2 3 4", "DISPLAY": "localhost:10.0"],
            ["firefox": .pageURL, "xdg-open": .pageURL]),
        // The browser is on another machine.
        Row(["BROWSER": helper, "VSCODE_IPC_HOOK_CLI": "/run/user/1/a.sock"], [helper: .address], visible: [:]),
        Row(["BROWSER": helper], [helper: .address], visible: [:]),
        Row(
            ["BROWSER": "/a/.cursor-server/helpers/browser.sh"], ["/a/.cursor-server/helpers/browser.sh": .address],
            visible: [:]),
        Row(["BROWSER": "open-it", "CODESPACES": "true"], ["open-it": .address], visible: [:]),
        Row(["BROWSER": "open-it", "REMOTE_CONTAINERS": "true"], ["open-it": .address], visible: [:]),
        Row(["BROWSER": "gp preview --external", "GITPOD_WORKSPACE_ID": "a"], ["gp": .address], visible: [:]),
        Row(["BROWSER": "lemonade", "SSH_CONNECTION": "1 2 3 4"], ["lemonade": .address], visible: [:]),
        Row(["SSH_CONNECTION": "1 2 3 4"], [:]),
        Row(["SSH_CLIENT": "1 2 3", "BROWSER": "lemonade"], ["lemonade": .address], visible: [:]),
        // The user wants no browser.
        Row(["BROWSER": "none", "DISPLAY": ":0"], [:]),
        Row(["BROWSER": "None", "WSL_DISTRO_NAME": "Debian"], [:]),
        Row(["CODESPACES": "true"], [:]),
        // A desktop in the container of the editor.
        Row(
            ["BROWSER": helper, "CODESPACES": "true", "DISPLAY": ":1"], [helper: .address, "xdg-open": .pageURL],
            visible: ["xdg-open": .pageURL]),
        // The browser is in Windows.
        Row(
            ["WSL_DISTRO_NAME": "Debian"],
            ["wslview": .address, "powershell.exe": .addressOnInput, "explorer.exe": .windowsPath],
            visible: ["wslview": .pagePath, "powershell.exe": .addressOnInput, "explorer.exe": .windowsPath]),
        Row(
            ["WSL_INTEROP": "/run/WSL/1_interop", "BROWSER": "/mnt/c/Program Files/chrome.exe"],
            [
                "/mnt/c/Program Files/chrome.exe": .address, "wslview": .address, "powershell.exe": .addressOnInput,
                "explorer.exe": .windowsPath,
            ],
            visible: [
                "/mnt/c/Program Files/chrome.exe": .windowsPath, "wslview": .pagePath,
                "powershell.exe": .addressOnInput, "explorer.exe": .windowsPath,
            ]),
        Row(
            ["WSL_DISTRO_NAME": "Debian", "BROWSER": "/mnt/c/Windows/explorer.exe:my-opener"],
            [
                "/mnt/c/Windows/explorer.exe": .windowsPath, "my-opener": .address, "wslview": .address,
                "powershell.exe": .addressOnInput, "explorer.exe": .windowsPath,
            ],
            visible: [
                "/mnt/c/Windows/explorer.exe": .windowsPath, "wslview": .pagePath, "powershell.exe": .addressOnInput,
                "explorer.exe": .windowsPath,
            ]),
        Row(
            [
                "WSL_DISTRO_NAME": "Debian",
                "BROWSER": "cmd.exe /c start:/mnt/c/Windows/PowerShell.exe -c start:pwsh.exe",
            ],
            [
                "cmd.exe": .windowsPath, "/mnt/c/Windows/PowerShell.exe": .windowsPath, "pwsh.exe": .windowsPath,
                "wslview": .address, "powershell.exe": .addressOnInput, "explorer.exe": .windowsPath,
            ],
            visible: [
                "cmd.exe": .windowsPath, "/mnt/c/Windows/PowerShell.exe": .windowsPath, "pwsh.exe": .windowsPath,
                "wslview": .pagePath, "powershell.exe": .addressOnInput, "explorer.exe": .windowsPath,
            ]),
    ]

    private func programs(
        _ variables: [String: String], hidesArguments: Bool,
        isInstalled: (String) -> Bool = { !$0.hasPrefix("gp ") && !$0.contains(" -c ") && !$0.contains(" /c ") }
    ) -> [BrowserProgram] {
        BrowserProgram.all({ variables[$0] }, isInstalled: isInstalled, hidesArguments: { hidesArguments })
    }

    #if !canImport(Darwin)
    @Test(arguments: rows)
    func `Shows the address only to its user, and where a file helps`(row: Row) {
        for (isHidden, expected) in [(true, row.hidden), (false, row.visible)] {
            let programs = programs(row.variables, hidesArguments: isHidden)
            #expect(Dictionary(uniqueKeysWithValues: programs.map { ($0.words[0], $0.input) }) == expected)
        }
    }
    #endif

    @Test func `Tries explorer.exe last, and xdg-open without it`() {
        let variables = ["WSL_DISTRO_NAME": "Debian", "BROWSER": "a:b"]
        let all = programs(variables, hidesArguments: true)
        #expect(all.map(\.words[0]) == ["a", "b", "wslview", "powershell.exe", "explorer.exe"])
        let few = programs(variables, hidesArguments: false) { _ in false }
        #expect(few.map(\.input) == [.pagePath])
    }

    @Test(arguments: [
        ("firefox", ["firefox", "URL"]), ("firefox %s", ["firefox", "URL"]),
        (" firefox  -new ", ["firefox", "-new", "URL"]),
        ("open --at=%s --now", ["open", "--at=URL", "--now"]), ("my browser", ["my browser", "URL"]),
        ("open \"%s\"", ["open", "URL"]), ("'/opt/my app/run' --new", ["/opt/my app/run", "--new", "URL"]),
        ("open --a='b c' ''", ["open", "--a=b c", "", "URL"]), ("lynx &", ["lynx", "URL"]),
        ("open a%cb 5%% %%s %d", ["open", "a:b", "5%", "%s", "%d", "URL"]),
    ])
    func `Reads arguments in BROWSER, unless a program has that name`(text: String, command: [String]) {
        let first = programs(["BROWSER": text], hidesArguments: false) { $0 == "my browser" }.first
        #expect(first?.command(with: "URL") == command)
    }

    @Test(arguments: [
        ("https://id.example/a?b=c&d=%20e~f", "https://id.example/a?b=c&d=%20e~f"),
        ("https://id.example/$(id)?'a';!*", "https://id.example/%24%28id%29?%27a%27%3B%21%2A"),
    ])
    func `Gives no program an address in which a shell finds a command`(address: String, argument: String) {
        #expect(BrowserProgram.harmless(address) == argument)
    }

    /// ssh joins its arguments, and a shell on the other machine runs them.
    @Test(arguments: [
        "ssh desk xdg-open", "/usr/bin/ssh desk xdg-open %s", "ssh -q desk firefox --new-tab=%s",
    ])
    func `Quotes the address for a shell on another machine`(text: String) throws {
        let variables = ["BROWSER": text, "SSH_CONNECTION": "1 2 3 4"]
        let program = try #require(programs(variables, hidesArguments: true) { _ in false }.first)
        #expect(program.input == .address)
        for address in [
            "https://id.example/a?b=c&reboot", "https://id.example/;reboot;$(id)", "https://id.example/'&id'",
        ] {
            let command = program.command(with: address)
            #expect(command.last?.hasSuffix(address.shellWord) == true, "\(command)")
        }
    }
}
