import AccountKit
import AccountCrypto
import AccountSupport

struct DocumentCodec<Value: Codable & Sendable>: Sendable {
    let path: String
    let name: String
    let format: DocumentFormat
    let seal: RowSeal?

    private static var sealedType: String { "document" }
    private var limit: Int { DocumentArchive<Value>.maximumByteCount }

    /// - Parameter stored: The stored document. If it is binary, the new document is binary, too, because an XML property
    ///   list cannot contain each text and date of another program. Otherwise, the new document has the format of the app.
    func encode(_ value: Value, replacing stored: [UInt8]? = nil) throws(AccountError) -> [UInt8] {
        let keepsBinary = seal == nil && stored.map { DocumentFormat(of: $0) } == .binary
        let plaintext = try PropertyListDocument.encode(value, format: keepsBinary ? .binary : format)
        var bytes = [UInt8](plaintext)
        if let seal {
            let id = seal.keyedID(name.utf8, type: Self.sealedType)
            bytes = [UInt8](
                try PropertyListDocument.encode(
                    SealedDocument(sealed: Data(seal.seal(plaintext, type: Self.sealedType, id: id))), format: .binary))
        }
        guard bytes.count <= limit else {
            throw AccountError(
                .tooLarge,
                "\(path) would have \(bytes.count) bytes, more than the maximum of \(limit): it was not changed")
        }
        return bytes
    }

    func decode(_ bytes: [UInt8]) throws(AccountError) -> Value {
        guard let sealed = SealedDocument(bytes) else {
            guard seal == nil else {
                throw AccountError(
                    .wrongKeyOrDamaged, "\(path) is not a sealed document, or is damaged; it was not changed")
            }
            return try decodePlain(bytes)
        }
        guard let seal else {
            throw AccountError(.noKey, "\(path) is sealed, but there is no key to open it; it was not changed")
        }
        guard sealed.version == SealedDocument.version else {
            throw AccountError(
                .unsupportedVersion,
                "\(path) has version \(sealed.version), which this program does not support",
                hint: "open it with a newer version of this program")
        }
        let id = seal.keyedID(name.utf8, type: Self.sealedType)
        guard let plaintext = seal.open(sealed.sealed, type: Self.sealedType, id: id) else {
            throw AccountError(
                .wrongKeyOrDamaged,
                "\(path) does not open: the key is wrong, or the file was changed. AccountKit left the file in place")
        }
        return try decodePlain(plaintext)
    }

    private func decodePlain(_ bytes: [UInt8]) throws(AccountError) -> Value {
        do {
            return try PropertyListDocument.decode(Value.self, from: bytes)
        } catch {
            throw AccountError(
                .damaged,
                "\(path) cannot be used: \(error.reason). It was not changed; correct it, restore a backup, or move it away"
            )
        }
    }
}

/// The property list of an encrypted document. Any library can read this property list, but no app can confuse it with
/// an unencrypted document.
private struct SealedDocument: Codable {
    static let format = "AccountKit document"
    static let version = 1

    var format = Self.format
    var version = Self.version
    var sealed: Data

    init(sealed: Data) { self.sealed = sealed }

    /// Parses an encrypted document. Returns `nil` for other content. A check of the raw bytes avoids decoding
    /// unencrypted documents twice.
    init?(_ bytes: [UInt8]) {
        let isPossible = bytes.starts(with: "bplist00".utf8) && bytes.firstRange(of: Array(Self.format.utf8)) != nil
        guard isPossible, let document = try? PropertyListDocument.decode(Self.self, from: bytes),
            document.format == Self.format
        else { return nil }
        self = document
    }
}
