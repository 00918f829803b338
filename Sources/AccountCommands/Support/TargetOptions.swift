import AccountKit
import ArgumentParser

struct TargetOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Get a token for another API, by its name at the service.", valueName: "name"))
    var audience: String?

    @Option(
        name: .customLong("resource"),
        help: ArgumentHelp("Get a token for another API (RFC 8707); can be repeated.", valueName: "uri"))
    var resources: [String] = []

    @Option(
        name: .customLong("scope"),
        help: ArgumentHelp("Get a token for only this scope; can be repeated.", valueName: "scope"))
    var scopes: [String] = []

    static var none: TargetOptions {
        var options = TargetOptions()
        options.audience = nil
        options.resources = []
        options.scopes = []
        return options
    }

    /// Reads an option, and returns whether the reader accepts it.
    mutating func read(_ option: Substring, from words: inout PlainArguments) -> Bool {
        switch option {
        case "--audience": words.read(&audience)
        case "--resource": words.read(&resources)
        case "--scope": words.read(&scopes)
        default: false
        }
    }

    func validate() throws {
        guard audience == nil || resources.isEmpty else {
            throw ValidationError(
                "--audience and --resource both specify an API", hint: "use the one that the service supports")
        }
        do {
            _ = try target()
        } catch {
            throw ValidationError(error.message.inCommandWords, hint: error.hint?.inCommandWords)
        }
    }

    func target() throws(AccountError) -> TokenTarget? {
        guard audience != nil || !resources.isEmpty || !scopes.isEmpty else { return nil }
        // One argument may contain several scopes, as in a request (RFC 6749, section 3.3).
        let scopes = scopes.flatMap { $0.split(separator: " ", omittingEmptySubsequences: false).map(String.init) }
        return try TokenTarget(audience: audience, resources: resources, scopes: scopes)
    }
}
