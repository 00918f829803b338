import ArgumentParser

package struct CommonOptions: ParsableArguments, Sendable {
    @OptionGroup private var target: SessionOption
    @OptionGroup private var others: OtherCommonOptions

    package var session: String? {
        get { target.session }
        set { target.session = newValue }
    }

    package var store: String? {
        get { others.store }
        set { others.store = newValue }
    }

    package var json: Bool {
        get { others.json }
        set { others.json = newValue }
    }

    package var verbose: Bool {
        get { others.verbose }
        set { others.verbose = newValue }
    }

    package init() {}

    init(_ target: SessionOption, _ others: OtherCommonOptions) {
        self.target = target
        self.others = others
    }

    package static var none: CommonOptions { CommonOptions(.none, .none) }

    /// Reads an option, and returns whether the reader accepts it.
    mutating func read(_ option: Substring, from words: inout PlainArguments) -> Bool {
        switch option {
        case "--session": words.read(&session)
        case "--store": words.read(&store)
        case "--json": words.read(&json)
        case "--verbose", "-v": words.read(&verbose)
        default: false
        }
    }
}

/// The option that the short help of `login` shows.
struct SessionOption: ParsableArguments, Sendable {
    @Option(help: "Session to use (default: the one in the environment, or the one set by `switch`).")
    var session: String?

    static var none: SessionOption {
        var options = SessionOption()
        options.session = nil
        return options
    }
}

struct OtherCommonOptions: ParsableArguments, Sendable {
    @Option(
        help: ArgumentHelp(
            "Location of sessions, such as etcds://host:2379/prefix, or file: for files on this machine (default: the "
                + "store in the environment).", valueName: "url"))
    var store: String?

    @Flag(help: "Print one JSON document instead of text.")
    var json = false

    @Flag(name: .shortAndLong, help: "Log progress to standard error (never includes tokens).")
    var verbose = false

    static var none: OtherCommonOptions {
        var options = OtherCommonOptions()
        options.store = nil
        options.json = false
        options.verbose = false
        return options
    }
}
