/// Decides by the name of a field whether the field may contain a secret. A false match is harmless: the original file
/// keeps the field.
enum SecretName {
    private static let parts = [
        "password", "passwd", "passwort", "passphrase", "passcode", "pwd", "secret", "token", "credential", "cookie",
        "authorization", "bearer", "jwt", "apikey", "accesskey", "privatekey", "sessionkey", "sessionid", "signingkey",
        "encryptionkey", "authcode", "verifier", "mnemonic", "密码", "口令",
    ].map { Array($0.utf8) }

    private static let wholeNames: Set<String> = [
        "pass", "pin", "otp", "totp", "sid", "session", "auth", "key", "mima",
    ]

    static func matches(_ name: String) -> Bool {
        let name = KnownField.folded(name)
        // Compare bytes, which is fast: a hostile file may contain very many names.
        let bytes = Array(name.utf8)
        return wholeNames.contains(name)
            || bytes.indices.contains { start in parts.contains { bytes[start...].starts(with: $0) } }
    }
}
