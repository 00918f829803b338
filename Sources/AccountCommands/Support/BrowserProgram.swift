import AccountKit
import AccountSupport

/// A program that opens a page in the browser of the user, and how it gets the address of a sign-in.
///
/// Other users can read the arguments of a process (proc(5), `cmdline`), so a program on this machine gets the name of a
/// ``RedirectPage``. A program that opens the page on another machine needs the address itself: the file does not exist
/// there. It gets the address on its standard input, or as an argument if no other user can read that.
struct BrowserProgram: Equatable {
    enum Input: Equatable {
        /// The URL of the file that redirects to the address.
        case pageURL
        /// The path of that file.
        case pagePath
        /// The path of that file as Windows names it.
        case windowsPath
        /// The address of the sign-in, as an argument.
        case address
        /// The address of the sign-in, on standard input.
        case addressOnInput
    }

    var words: [String]
    var input: Input

    /// Returns the programs to try, in order. The list is empty if the browser is on another machine, and only a process
    /// whose arguments other users can read could open it.
    ///
    /// - Parameters:
    ///   - value: Returns the value of an environment variable.
    ///   - isInstalled: Whether a path or name is that of a program.
    ///   - hidesArguments: Whether no other user can read the arguments of this user's processes.
    static func all(
        _ value: (String) -> String?, isInstalled: (String) -> Bool, hidesArguments: () -> Bool
    ) -> [BrowserProgram] {
        if let list = value("BROWSER"), isNone(list) { return [] }
        let chosen = chosen(value("BROWSER"), isInstalled)
        if isInWindowsSubsystem(value) {
            return inWindows(chosen, isInstalled, hidesArguments)
        }
        guard isElsewhere(value) else { return (chosen + [opener]).map { BrowserProgram(words: $0, input: .pageURL) } }
        var programs = hidesArguments() ? chosen.map { BrowserProgram(words: $0, input: .address) } : []
        // With a display, the desktop's browser is on this machine.
        if hasDisplay(value) { programs.append(BrowserProgram(words: opener, input: .pageURL)) }
        return programs
    }

    #if canImport(Darwin)
    private static let opener = ["open"]
    #else
    private static let opener = ["xdg-open"]
    #endif

    /// Whether the program in `$BROWSER` opens pages on another machine: that of an editor or a web page which is connected
    /// to this one, or that of an SSH client.
    private static func isElsewhere(_ value: (String) -> String?) -> Bool {
        let editors = ["VSCODE_IPC_HOOK_CLI", "CODESPACES", "REMOTE_CONTAINERS", "GITPOD_WORKSPACE_ID"]
        if editors.contains(where: { value($0) != nil }) { return true }
        // Such as `~/.vscode-server/bin/…/helpers/browser.sh`, also of other editors that are made from VS Code.
        if value("BROWSER")?.split(separator: "/").suffix(2) == ["helpers", "browser.sh"] { return true }
        let ssh = ["SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY"]
        return ssh.contains { value($0) != nil } && !hasDisplay(value)
    }

    /// Whether this process runs in the Windows Subsystem for Linux, where Windows has the browser of the user.
    static func isInWindowsSubsystem(_ value: (String) -> String?) -> Bool {
        value("WSL_DISTRO_NAME") != nil || value("WSL_INTEROP") != nil
    }

    static func hasDisplay(_ value: (String) -> String?) -> Bool {
        value("DISPLAY") != nil || value("WAYLAND_DISPLAY") != nil
    }

    private static let windowsShells = ["cmd", "cmd.exe", "powershell.exe", "pwsh.exe"]

    /// Returns the programs that open a page in Windows, from the Windows Subsystem for Linux. Windows can read the files of
    /// Linux, but only by other names.
    private static func inWindows(
        _ chosen: [[String]], _ isInstalled: (String) -> Bool, _ hidesArguments: () -> Bool
    ) -> [BrowserProgram] {
        let isHidden = hidesArguments()
        // A chosen program that is not known here may be one of Windows, which would not find the page.
        var programs = chosen.compactMap { program($0, isHidden) }
        if isInstalled("wslview") { programs += [program(["wslview"], isHidden)].compactMap(\.self) }
        if isInstalled("powershell.exe") {
            let script = "Start-Process ([Console]::In.ReadLine())"
            let words = ["powershell.exe", "-NoProfile", "-NonInteractive", "-Command", script]
            programs.append(BrowserProgram(words: words, input: .addressOnInput))
        }
        // The last program, because `explorer.exe` fails even if it has opened the page.
        let last = isInstalled("explorer.exe") ? program(["explorer.exe"], isHidden) : nil
        return programs + [last ?? BrowserProgram(words: opener, input: isHidden ? .address : .pagePath)]
    }

    private static func program(_ words: [String], _ isHidden: Bool) -> BrowserProgram? {
        let name = (words[0].split(separator: "/").last ?? "").lowercased()
        // `explorer.exe` opens no address that contains an equals sign, and a shell would run parts of an address, which the
        // service chooses.
        if name == "explorer.exe" || windowsShells.contains(name) {
            return BrowserProgram(words: words, input: .windowsPath)
        }
        if isHidden { return BrowserProgram(words: words, input: .address) }
        if name == "wslview" || name == "wsl-open" { return BrowserProgram(words: words, input: .pagePath) }
        return name.hasSuffix(".exe") ? BrowserProgram(words: words, input: .windowsPath) : nil
    }

    /// Whether `$BROWSER` says that no program opens the browser, as many programs understand it.
    static func isNone(_ list: String) -> Bool { list.trimmed.lowercased() == "none" }

    /// Returns the commands in `$BROWSER`, a colon-separated list (sensible-browser(1)). A name with spaces is one program
    /// if there is such a program, and otherwise a program with arguments, of which `%s` stands for the page, `%c` for a colon
    /// and `%%` for a percent sign. Quotation marks keep words together, and `&` at the end has no effect, because a program
    /// runs in the background anyway.
    private static func chosen(_ list: String?, _ isInstalled: (String) -> Bool) -> [[String]] {
        (list ?? "").split(separator: ":").compactMap { text in
            let text = String(text).trimmed
            guard !text.isEmpty else { return nil }
            var words = words(in: text)
            if words.count > 1, words.last == "&" { words.removeLast() }
            return isInstalled(text) || words.isEmpty ? [text] : words
        }
    }

    private static func words(in text: String) -> [String] {
        var words: [String] = []
        var word: String?
        var quote: Character?
        for character in text {
            switch character {
            case quote: quote = nil
            case "\"", "'":
                guard quote == nil else { fallthrough }
                (quote, word) = (character, word ?? "")
            case " " where quote == nil:
                if let word { words.append(word) }
                word = nil
            default: word = (word ?? "") + String(character)
            }
        }
        return words + (word.map { [$0] } ?? [])
    }

    /// Whether the program gets the name of a file that redirects to the address.
    var needsPage: Bool { [.pageURL, .pagePath, .windowsPath].contains(input) }

    /// Returns an address that a program can pass to a shell within double quotes, as some openers of pages do: with escapes in
    /// place of the marks with which a shell runs a command (RFC 3986, section 2.1). A service has no reason to use these marks.
    static func harmless(_ address: String) -> String { address.percentEncoded(keeping: "-._~:/?#[]@&+,=%") }

    /// Whether the program joins its arguments to a command line of a shell, as ssh(1) does on the other machine.
    private var runsShell: Bool { words[0].split(separator: "/").last == "ssh" }

    /// Returns the command that opens a page. `%s` in a word stands for the page, which is the last word otherwise.
    ///
    /// The service chooses parts of an address, so no shell must run them.
    func command(with page: String?) -> [String] {
        guard var page else { return words }
        if runsShell { page = page.shellWord }
        let values: [Character: String] = ["s": page, "c": ":", "%": "%"]
        var hasPage = false
        let arguments = words.dropFirst().map { word in
            var result = ""
            var rest = word[...]
            while let character = rest.popFirst() {
                guard character == "%", let next = rest.first, let value = values[next] else {
                    result.append(character)
                    continue
                }
                rest.removeFirst()
                if next == "s" { hasPage = true }
                result += value
            }
            return result
        }
        return words.prefix(1) + arguments + (hasPage ? [] : [page])
    }
}
