import AccountKit
import ArgumentParser

/// The options that choose how a user signs in.
struct SignInWayOptions<App: AccountApplication>: ParsableArguments {
    @Flag(
        help: ArgumentHelp(
            "Sign in with the browser on this machine, or paste the final address of a browser on another machine.",
            visibility: App.visibility(of: .browser)))
    var web = false

    @Flag(help: ArgumentHelp("Show a code to enter on another device.", visibility: App.visibility(of: .device)))
    var device = false

    @Flag(
        help: ArgumentHelp(
            "Prompt for a user name and a password.",
            visibility: App.visibility(of: .password)))
    var password = false

    @Flag(
        help: ArgumentHelp(
            "Read an access token from the first line of standard input.", visibility: App.visibility(of: .token)))
    var withToken = false

    @Flag(
        help: ArgumentHelp(
            "The same as --web, but without opening a browser on this machine.",
            visibility: App.moreVisibility(of: .browser)))
    var paste = false

    @Flag(
        inversion: .prefixedNo,
        help: ArgumentHelp(
            "With --device, also show the address as a QR code, if qrencode is installed.",
            visibility: App.moreVisibility(of: .device)))
    var qr = true

    @Flag(
        help: ArgumentHelp(
            "Read the password from the first line of standard input.", visibility: App.moreVisibility(of: .password)))
    var passwordStdin = false

    /// Whether an option chooses a way.
    var isGiven: Bool { device || web || paste || usesPassword || withToken }

    var usesPassword: Bool { password || passwordStdin }

    func validate() throws {
        let ways = [device, web || paste, usesPassword, withToken].filter { $0 }.count
        if ways > 1 { throw ValidationError("choose one of --device, --web, --password and --with-token") }
    }
}
