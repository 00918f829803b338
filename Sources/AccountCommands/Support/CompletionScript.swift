import AccountSupport

/// Corrects the completion script that the parser generates.
///
/// `login` has an argument, its URL, and also a subcommand, `login machine`. A generated script reads the name of the subcommand
/// as that argument, and would offer the options of `login` after it.
enum CompletionScript {
    private static let name = "machine"

    /// Returns a script for bash, zsh or fish that offers the options of `login machine` after these two words, and those of
    /// `login` otherwise. Returns other scripts unchanged.
    static func separatingMachine(_ script: String) -> String {
        guard let start = script.firstMatch(of: /\n(_\S*_login)\(\) \{\n/) else { return inFish(script) }
        let function = start.output.1
        guard let end = script[start.range.upperBound...].firstRange(of: "\n}\n"),
            script.contains("\n\(function)_\(name)() {\n")
        else { return script }
        var body = String(script[start.range.upperBound..<end.lowerBound])
        let condition: String
        if script.hasPrefix("#compdef ") {
            condition = """
                    if [[ "${words[2]}" = \(name) && "${CURRENT}" -gt 2 ]]; then
                        shift words
                        (( CURRENT-- ))
                """
            // What follows a URL is not a subcommand.
            for state in ["        '(-): :->command'\n", "        '(-)*:: :->arg'\n"] {
                body = body.replacing(state, with: "")
            }
        } else {
            condition = """
                    if [[ "${unparsed_words[0]}" = \(name) && "${#unparsed_words[@]}" -gt 1 ]]; then
                        unparsed_words=("${unparsed_words[@]:1}")
                """
            if let offers = body.firstRange(of: "\n    # Offer subcommand ") {
                body = String(body[..<offers.lowerBound])
            }
        }
        let call = "\n        \(function)_\(name)\n        return\n    fi\n"
        return script[..<start.range.upperBound] + condition + call + body + script[end.lowerBound...]
    }

    private static func inFish(_ script: String) -> String {
        var lines: [String] = []
        var isLogin = false
        for line in script.split(separator: "\n", omittingEmptySubsequences: false) {
            // What follows a URL is not a subcommand.
            if line.contains(" login\" -eq 2' -fa '\(name)' ") { continue }
            if isLogin, let call = line.firstRange(of: "_parse_subcommand 1 "),
                script.contains(" login\" -eq 2' -fa '\(name)' ")
            {
                let indent = line.prefix { $0 == " " }
                lines += [
                    "\(indent)if test \"$unparsed_tokens[2]\" = \(name)",
                    "\(indent)    \(line[indent.endIndex..<call.lowerBound])_parse_subcommand 0",
                    "\(indent)else", "\(indent)    \(line[indent.endIndex...])", "\(indent)end",
                ]
            } else {
                lines.append(String(line))
            }
            isLogin = line.drop { $0 == " " } == "case 'login'"
        }
        return lines.joined(separator: "\n")
    }
}
