/// The format of a property list.
public enum DocumentFormat: Sendable, Hashable {
    /// XML text, which people and other programs can read.
    case xml

    /// The binary format, which is smaller and faster to read.
    case binary

    init(of document: [UInt8]) { self = document.starts(with: "bplist00".utf8) ? .binary : .xml }
}
