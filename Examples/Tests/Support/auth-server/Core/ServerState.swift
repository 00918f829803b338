/// What must survive a restart: every grant, every token, every device and every browser that waits, the key that ID
/// tokens are signed with, and every gist.
///
/// Faults, altered responses, the clock's offset and the request log are not part of it: a restarted server is well
/// again.
struct ServerState: Codable, Equatable, Sendable {
    /// The version of the format; a file of another version is refused, not guessed at.
    static let currentVersion = 4

    var version = currentVersion
    var grants = GrantLedger()
    var devices = DeviceLedger()
    var codes = CodeLedger()
    var signingKey = SigningKey()
    var gists = GistLedger()
}
