/// Tells by its name whether a field holds a secret. When in doubt it does: the original keeps what is left out here.
enum SecretName {
    /// Anywhere in the name.
    private static let parts = [
        "password", "passwd", "passwort", "passphrase", "passcode", "pwd", "secret", "token", "credential", "cookie",
        "authorization", "bearer", "jwt", "apikey", "accesskey", "privatekey", "sessionkey", "sessionid", "signingkey",
        "encryptionkey", "authcode", "verifier", "mnemonic", "密码", "口令",
    ]

    /// The whole name.
    private static let names: Set<String> = ["pass", "pin", "otp", "totp", "sid", "session", "auth", "key", "mima"]

    static func matches(_ name: String) -> Bool {
        let name = KnownField.folded(name)
        return names.contains(name) || parts.contains { name.contains($0) }
    }
}
