/// The reason why an envelope does not open. None of these errors means that the user is signed out.
package enum EnvelopeError: Error, Hashable, Sendable {
    case damaged(String)

    /// The envelope requires a later version of AccountKit. The text identifies the unknown feature.
    case unsupported(String)

    /// A key slot or the payload does not open. By design, a wrong key and changed bytes are indistinguishable.
    case authenticationFailed

    case unfitKey(KeySlot.Kind)
    case outOfMemory
}
