package import AccountCrypto

/// A token or password in guarded memory, which never shows itself by accident.
///
/// The bytes are locked, kept out of core dumps and zeroed when the last copy of the value is dropped (libsodium,
/// "Secure memory"). A description, a dump, a mirror or an interpolation of it shows neither the text, nor a part of
/// it, nor its length. Two secrets are compared in constant time.
///
/// ```swift
/// request.headers["Authorization"] = "Bearer \(token.reveal())"
/// ```
public struct Secret: Sendable {
    private let storage: GuardedBytes
    private let range: Range<Int>

    /// Copies the UTF-8 bytes of `text` into guarded memory. The string itself stays where it is.
    public init(_ text: String) {
        self.init(bytes: text.utf8)
    }

    /// Copies `bytes` into guarded memory. The original stays where it is.
    public init(bytes: some Collection<UInt8>) {
        let storage = GuardedBytes(copying: bytes)
        self.init(storage, range: 0..<storage.count)
    }

    /// A part of guarded bytes that others share.
    package init(_ storage: GuardedBytes, range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= storage.count)
        self.storage = storage
        self.range = range
    }

    /// Not public, since a length tells something.
    package var byteCount: Int { range.count }

    /// Lends the bytes for the time of `body`, without copying them.
    public func withBytes<Result, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withUnsafeBytes { bytes throws(Failure) in try body(bytes.bytes) }
    }

    /// The secret as text, in ordinary memory: for the moment in which it is sent or printed, not for keeping.
    ///
    /// Bytes that are not UTF-8 are replaced by U+FFFD.
    public func reveal() -> String {
        withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    package func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try storage.withUnsafeBytes { bytes throws(Failure) in try body(UnsafeRawBufferPointer(rebasing: bytes[range]))
        }
    }
}

extension Secret: Equatable {
    /// Compares in a time that depends on the lengths alone.
    public static func == (left: Secret, right: Secret) -> Bool {
        GuardedBytes.isEqual(left.storage, left.range, right.storage, right.range)
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Always the same text.
    public var description: String { "(secret)" }

    /// Always the same text.
    public var debugDescription: String { "(secret)" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}

extension DefaultStringInterpolation {
    /// Adds "(secret)", and warns when the program is built: who writes `"Bearer \(token)"` means something else.
    @available(*, deprecated, message: "this text will say (secret): use reveal() where the secret itself is sent")
    public mutating func appendInterpolation(_ secret: Secret) { appendLiteral(secret.description) }
}
