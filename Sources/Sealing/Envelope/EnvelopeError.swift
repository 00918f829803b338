/// Why an envelope does not open. None of these says that nobody is signed in.
package enum EnvelopeError: Error, Hashable, Sendable {
    /// The bytes are not an envelope, or not all of one; the text says what is wrong with them.
    case damaged(String)

    /// A later format, or an option of it that this code does not know; the text names it.
    case unsupported(String)

    /// A key slot or the payload does not open. A wrong key and changed bytes cannot be told apart, by design.
    case wrongKeyOrDamaged

    /// A slot of this kind cannot be made for what was given: a passphrase's takes a passphrase, any other 32 bytes.
    case unfitKey(KeySlot.Kind)

    /// There is not enough memory to derive a passphrase's key.
    case outOfMemory
}
