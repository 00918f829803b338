import AccountCrypto

typealias AccountPlaintext = SealedPlaintext<Account>

/// The plaintext of an archive: a section with the secrets, then a section with the record.
///
/// Both sections begin with their length in four bytes. The secrets section has one entry for each secret: two bytes
/// for its tag, two zero bytes, four bytes for its length, and the secret. Numbers are little-endian. The record is a
/// binary property list. AccountKit decrypts a plaintext into guarded memory. The secrets stay there, and AccountKit
/// reads the record from there.
enum SealedPlaintext<Payload: SealedPayload> {
    /// Encodes a payload, with padding. The secrets of the returned payload are in the same guarded memory.
    static func encode(_ payload: Payload) throws(AccountError) -> (plaintext: GuardedBytes, payload: Payload) {
        let (fields, secrets) = (payload.sealedRecord, payload.sealedSecrets)
        let record: [UInt8]
        do {
            record = try RecordPropertyListWriter.write(fields)
        } catch {
            throw AccountError(
                .invalidArgument,
                "the profile is nested more than \(RecordPropertyList.maximumDepth) values deep, which an archive does not support"
            )
        }
        let secretsCount = secrets.reduce(0) { $0 + 8 + $1.secret.byteCount }
        let count = 4 + secretsCount + 4 + record.count

        var ranges: [Range<Int>] = []
        let plaintext = GuardedBytes(count: Envelope.paddedByteCount(count)) { buffer in
            var offset = 0
            let put = { (bytes: UnsafeRawBufferPointer) in
                UnsafeMutableRawBufferPointer(rebasing: buffer[offset...]).copyMemory(from: bytes)
                offset += bytes.count
            }
            let putNumber = { (value: UInt32) in withUnsafeBytes(of: value.littleEndian, put) }
            putNumber(UInt32(secretsCount))
            for sealed in secrets {
                putNumber(UInt32(sealed.tag.rawValue))
                putNumber(UInt32(sealed.secret.byteCount))
                ranges.append(offset..<offset + sealed.secret.byteCount)
                sealed.secret.withUnsafeBytes(put)
            }
            putNumber(UInt32(record.count))
            record.withUnsafeBytes(put)
            Envelope.pad(buffer, count: count)
        }
        let kept = zip(secrets, ranges).map { SealedSecret($0.tag, Secret(plaintext, range: $1)) }
        do {
            return (plaintext, try Payload(record: fields, secrets: kept))
        } catch {
            preconditionFailure("a payload can be created from its own record")
        }
    }

    /// Decodes a payload whose secrets stay in the same memory. The bytes after `count` are padding.
    static func decode(_ plaintext: GuardedBytes, count: Int) throws(AccountError) -> Payload {
        do {
            var secrets: [SealedSecret] = []
            var reader = PlaintextReader(plaintext: plaintext, end: count)
            let secretsEnd = try reader.section().upperBound
            while reader.offset < secretsEnd {
                let number = try reader.number()
                guard let tag = UInt16(exactly: number).flatMap(SealedSecret.Tag.init(rawValue:)) else {
                    throw AccountError(
                        .unsupportedVersion,
                        "the archive contains a kind of token (\(number)) that this version does not support")
                }
                secrets.append(SealedSecret(tag, Secret(plaintext, range: try reader.section(skip: true))))
            }
            guard reader.offset == secretsEnd else { throw RecordPropertyList.unusable }
            let range = try reader.section()
            guard range.upperBound == count else { throw RecordPropertyList.unusable }
            let record = try plaintext.withUnsafeBytes { bytes throws(RecordPropertyList.Malformed) in
                try RecordPropertyList.read(UnsafeRawBufferPointer(rebasing: bytes[range]))
            }
            return try Payload(record: record, secrets: secrets)
        } catch let error as AccountError {
            throw error
        } catch {
            throw AccountError(.damaged, "the archive opens, but does not contain \(Payload.sealedName)")
        }
    }
}

private struct PlaintextReader {
    let plaintext: GuardedBytes
    let end: Int
    var offset = 0

    mutating func number() throws(RecordPropertyList.Malformed) -> UInt32 {
        guard end - offset >= 4 else { throw RecordPropertyList.unusable }
        defer { offset += 4 }
        return plaintext.withUnsafeBytes {
            UInt32(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        }
    }

    /// Reads the length of a section, and returns the range of the section. The offset is then at the start of the
    /// section; if `skip` is `true`, it is after the section.
    mutating func section(skip: Bool = false) throws(RecordPropertyList.Malformed) -> Range<Int> {
        let count = Int(clamping: try number())
        guard count <= end - offset else { throw RecordPropertyList.unusable }
        defer { if skip { offset += count } }
        return offset..<offset + count
    }
}
