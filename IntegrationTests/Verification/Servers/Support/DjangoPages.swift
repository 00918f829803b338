@testable import EndToEndSupport

/// The user's actions on the pages of `DjangoServer`.
enum DjangoPages {
    static func signIn() -> [Browser.Step] {
        [
            .type("alice", into: "[name=username]"), .type(DjangoServer.password, into: "[name=password]"),
            .press("button"),
        ]
    }

    static let approve: [Browser.Step] = [.press("#authorizationForm [name=allow]")]
    static let deny: [Browser.Step] = [.press("#authorizationForm [type=submit]:not([name=allow])")]

    /// Enters the code that the device shows.
    static func enterCode(_ code: String) -> [Browser.Step] {
        [.type(code, into: "[name=user_code]"), .press("button")]
    }

    static let approveDevice: [Browser.Step] = [.press("button[value=accept]")]
}
