/// The reason why an envelope does not open. None of these errors means that the user is signed out.
package enum EnvelopeError: Error, Hashable, Sendable {
    /// The envelope is damaged; the text describes how.
    case damaged(String)

    /// The envelope needs a later version; the text names the unknown feature.
    case unsupported(String)

    /// A key slot or the payload does not open. By design, a wrong key and changed bytes are indistinguishable.
    case authenticationFailed

    /// The key does not fit the kind of slot: a passphrase slot needs a passphrase, any other kind 32 bytes.
    case unfitKey(KeySlot.Kind)
    case outOfMemory
}
