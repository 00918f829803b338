import AccountCrypto

extension AccountError {
    /// If several machines share the storage, another machine may have the key, so no message advises a new sign-in.
    init(_ error: EnvelopeError, isShared: Bool) {
        switch error {
        case .damaged(let what) where isShared:
            self.init(
                .damaged,
                "the archive in the shared store is truncated or not an account archive: \(what). You are not signed out, and "
                    + "nothing was changed; restore a backup of the store")
        case .damaged(let what):
            self.init(
                .damaged,
                "Account.plist is truncated or not an account archive: \(what). You are not signed out; restore a backup, or sign in again"
            )
        case .unsupported(let what):
            self.init(
                .unsupportedVersion, "Account.plist was written by a later version (\(what)): update this program")
        case .authenticationFailed where isShared:
            self.init(
                .wrongKeyOrDamaged,
                "the archive in the shared store does not open here: this machine and the machine that wrote it have different "
                    + "keys, or the entry was changed or copied from another place. You are not signed out, and nothing was "
                    + "changed; install the key that the other machines use")
        case .authenticationFailed:
            self.init(
                .wrongKeyOrDamaged,
                "Account.plist does not open: the key is wrong, the file belongs to another app or session, or it was "
                    + "changed. You are not signed out; restore the right file, or sign in again")
        case .unfitKey(let kind):
            self.init(
                .invalidArgument,
                "\(KeyKind(kind).text) cannot be created from this value: a passphrase slot requires a passphrase, and "
                    + "any other slot requires a key of 32 bytes")
        case .outOfMemory:
            self.init(.inaccessible, "there is not enough memory to derive the passphrase's key")
        }
    }
}
