#if Offline
/// How a property list is written.
public enum DocumentFormat: Sendable, Hashable {
    /// As text, for people and for any other program.
    case xml

    /// Smaller, and faster to read.
    case binary
}
#endif
