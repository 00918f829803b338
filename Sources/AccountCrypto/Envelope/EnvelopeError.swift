/// Why an envelope does not open. None of these says that nobody is signed in.
package enum EnvelopeError: Error, Hashable, Sendable {
    /// With what is wrong.
    case damaged(String)

    /// With the name of what a later version may know.
    case unsupported(String)

    /// A key slot or the payload does not open. A wrong key and changed bytes cannot be told apart, by design.
    case authenticationFailed

    /// A slot of this kind cannot be made for what was given: a passphrase's takes a passphrase, any other 32 bytes.
    case unfitKey(KeySlot.Kind)
    case outOfMemory
}
