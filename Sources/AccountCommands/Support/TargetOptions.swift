import AccountKit
import ArgumentParser

/// What a token is to be for, if not for what the sign-in is for.
struct TargetOptions: ParsableArguments {
    @Option(help: ArgumentHelp("A token for another API, by the name that the service has for it.", valueName: "name"))
    var audience: String?

    @Option(
        name: .customLong("resource"),
        help: ArgumentHelp("A token for another API (RFC 8707); may be given several times.", valueName: "uri"))
    var resources: [String] = []

    @Option(
        name: .customLong("scope"),
        help: ArgumentHelp("A token for this only; may be given several times.", valueName: "scope"))
    var scopes: [String] = []

    static var none: TargetOptions {
        var options = TargetOptions()
        options.audience = nil
        options.resources = []
        options.scopes = []
        return options
    }

    func validate() throws {
        guard audience == nil || resources.isEmpty else {
            throw ValidationError(
                "--audience and --resource are two ways to name an API: use the one that the service has")
        }
        do {
            _ = try target()
        } catch {
            throw ValidationError(error.message)
        }
    }

    /// `nil` if the token is to be for what the sign-in is for.
    func target() throws(AccountError) -> TokenTarget? {
        guard audience != nil || !resources.isEmpty || !scopes.isEmpty else { return nil }
        // Several scopes may stand in one argument, as in a request (RFC 6749, section 3.3).
        let scopes = scopes.flatMap { $0.split(separator: " ", omittingEmptySubsequences: false).map(String.init) }
        return try TokenTarget(audience: audience, resources: resources, scopes: scopes)
    }
}
