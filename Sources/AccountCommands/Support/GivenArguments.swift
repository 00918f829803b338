/// The arguments of a process, in the spelling that the parser expects.
struct GivenArguments: Equatable {
    /// The arguments to parse.
    private(set) var words: [String]

    /// Whether a requested help text is complete.
    let showsAllHelp: Bool

    /// - Parameter isAccount: Whether the first argument is an account command. In other tools, these follow `account`.
    init(_ arguments: [String], isAccount: Bool) {
        words = arguments
        var start = 0
        if !isAccount, arguments.starts(with: ["account", "help"]) {
            words.replaceSubrange(..<2, with: ["help", "account"])
        }
        let isHelp = words.first == "help"
        showsAllHelp = words.contains("--all")
        if isHelp {
            words.removeAll { $0 == "--all" }
            start = 1
        }
        if !isAccount {
            guard words.dropFirst(start).first == "account" else { return }
            start += 1
        }
        words.replaceSubrange(start..., with: Self.current(words[start...]))
        // Without a subcommand, the parser would report the unknown option instead of showing the help.
        let options = words[start...]
        if options.contains(where: { ["--help", "-h"].contains($0) }), options.allSatisfy({ $0.hasPrefix("-") }) {
            words.removeAll { $0 == "--all" }
        }
    }

    /// Returns account commands in their current spelling, and `login machine` as one word: the parser would read `machine`
    /// as the URL of `login`.
    static func current(_ words: ArraySlice<String>) -> [String] {
        guard let name = words.first else { return [] }
        if ["unlock", "lock"].contains(name) { return ["key"] + words }
        if words.starts(with: ["login", "machine"]) { return ["login machine"] + words.dropFirst(2) }
        return Array(words)
    }
}
