/// The state that survives a restart: grants, tokens, waiting devices and browsers, the signing key of ID tokens, and
/// gists.
///
/// Faults, alterations, the clock's offset and the request log are not saved, so a restarted server works normally
/// again.
struct ServerState: Codable, Equatable, Sendable {
    /// The version of the format. A file of another version is rejected.
    static let currentVersion = 4

    var version = currentVersion
    var grants = GrantLedger()
    var devices = DeviceLedger()
    var codes = CodeLedger()
    var signingKey = SigningKey()
    var gists = GistLedger()
}
