public import AccountKit

extension AccountError {
    /// The problem in one line, with the command that helps.
    public func line(of tool: String) -> String {
        let text = description.namingCommands(of: tool)
        let needsCommand = hint?.contains("sign in") == true && !text.contains("`")
        return needsCommand ? "\(text) with `\(tool) account login`" : text
    }
}

extension String {
    /// The shown text with the name of the tool in the commands of AccountKit.
    public func namingCommands(of tool: String) -> String {
        replacing("`login ", with: "`\(tool) account login ").shown
    }
}
