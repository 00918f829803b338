/// Whose archive it is: bound into every key and tag, and stored nowhere, so that a file copied from another app or
/// session does not open.
package struct SealingContext: Hashable, Sendable {
    /// `lp("AccountKit/1") ‖ lp(app identifier) ‖ lp(session name)`.
    let bytes: [UInt8]

    package init(appIdentifier: String, sessionName: String) {
        var bytes: [UInt8] = []
        bytes.append(lengthPrefixed: "AccountKit/1".utf8)
        bytes.append(lengthPrefixed: appIdentifier.utf8)
        bytes.append(lengthPrefixed: sessionName.utf8)
        self.bytes = bytes
    }
}
