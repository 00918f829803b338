import AccountCommands
import AccountKit

/// Recognizes the program of this tool in the configuration of other programs. A program with the same name in another
/// folder is another program.
struct ToolProgram {
    /// The name that `setup` writes. Other programs look it up in `$PATH`.
    let name: String

    var isInstalled: (String) -> Bool

    /// Returns whether a path leads to the file of this tool.
    var isSameFile: (String) -> Bool
}

extension ToolProgram {
    /// - Parameter name: The name of this tool. If `$PATH` has a program with this name, such as a script that runs this
    ///   tool, it counts as this tool, too.
    init(_ name: String) {
        self.init(name: name, isInstalled: ExternalProgram.isInstalled) { path in
            // A relative path depends on the folder in which the other program runs.
            guard path.hasPrefix("/") || path.hasPrefix("~/") || !path.contains("/"),
                let program = InstalledProgram(path)
            else { return false }
            return program.isThisProgram || InstalledProgram(name).map(program.isSame) ?? false
        }
    }

    /// Returns whether an entry with this program runs this tool.
    func isRun(by program: String) -> Bool { program == name || isSameFile(program) }

    /// Returns whether an entry with this program runs nothing, and ran this tool or one with its name.
    func isGone(_ program: String) -> Bool { program.lastComponent == name && !isInstalled(program) }
}
