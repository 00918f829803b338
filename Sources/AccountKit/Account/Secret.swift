package import AccountCrypto
import AccountSupport

/// A token or password in guarded memory.
///
/// The memory is locked, excluded from core dumps, and zeroed when the last copy of the value is released (libsodium,
/// "Secure memory"). A description, dump, mirror or interpolation shows neither the text, nor a part of it, nor its
/// length. Secrets are compared in constant time.
///
/// ```swift
/// request.headers["Authorization"] = "Bearer \(token.reveal())"
/// ```
public struct Secret: Sendable {
    private let storage: GuardedBytes
    private let range: Range<Int>

    /// Copies the UTF-8 bytes of `text` into guarded memory. The string stays in ordinary memory.
    public init(_ text: String) {
        self.init(bytes: text.utf8)
    }

    /// Copies `bytes` into guarded memory. The original stays in ordinary memory.
    public init(bytes: some Collection<UInt8>) {
        let storage = GuardedBytes(copying: bytes)
        self.init(storage, range: 0..<storage.count)
    }

    package init(_ storage: GuardedBytes, range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= storage.count)
        self.storage = storage
        self.range = range
    }

    /// The secret without the spaces around it, by the rule for values that other programs wrote. A password keeps
    /// its spaces.
    package var trimmed: Secret { part { $0.trimmed } }

    /// The first line that contains more than spaces, without the spaces around it.
    package var firstLine: Secret { part { $0.firstLine } }

    private func part(_ body: (UnsafeRawBufferPointer) -> Slice<UnsafeRawBufferPointer>) -> Secret {
        let part = withUnsafeBytes { body($0).indices }
        return Secret(storage, range: range.lowerBound + part.lowerBound..<range.lowerBound + part.upperBound)
    }

    /// The length in bytes. This property is not public, since the length reveals information about the secret.
    package var byteCount: Int { range.count }

    /// Calls `body` with the bytes, without copying them.
    public func withBytes<Result, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withUnsafeBytes { bytes throws(Failure) in try body(bytes.bytes) }
    }

    /// Returns the secret as text in ordinary memory. Call this function only to send or print the secret immediately.
    ///
    /// U+FFFD replaces bytes that are not UTF-8.
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
    /// Compares two secrets. The time depends only on their lengths.
    public static func == (left: Secret, right: Secret) -> Bool {
        GuardedBytes.isEqual(left.storage, left.range, right.storage, right.range)
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The text `(secret)` for every secret.
    public var description: String { "(secret)" }

    /// The text `(secret)` for every secret.
    public var debugDescription: String { "(secret)" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}

extension DefaultStringInterpolation {
    /// Appends `(secret)`. The compiler warns about this interpolation, since `"Bearer \(token)"` is probably a
    /// mistake.
    @available(*, deprecated, message: "this text contains only (secret): use reveal() to send the secret itself")
    public mutating func appendInterpolation(_ secret: Secret) { appendLiteral(secret.description) }
}

extension Secret {
    /// The SHA-256 hash in hexadecimal, to recognize a token later. Do not use it for a password, which could be
    /// guessed from the hash.
    package var fingerprint: String { withUnsafeBytes { Sodium.sha256($0).hexadecimal } }
}
