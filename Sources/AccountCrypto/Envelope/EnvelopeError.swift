/// The reason why an envelope cannot be opened. None of these errors means that the user is signed out.
package enum EnvelopeError: Error, Hashable, Sendable {
    case damaged(String)

    /// The envelope requires a later version of AccountKit. The text identifies the unknown feature.
    case unsupported(String)

    /// A key slot or the payload cannot be opened. By design, a wrong key and changed bytes are indistinguishable.
    case authenticationFailed

    case unfitKey(KeySlot.Kind)
    case outOfMemory
}
