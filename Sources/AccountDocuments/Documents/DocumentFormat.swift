/// The format of a property list.
public enum DocumentFormat: Sendable, Hashable {
    /// XML text, readable by people and other programs.
    case xml

    /// Binary, which is smaller and faster to read.
    case binary
}
