import CSodium

/// The encrypted content of an archive. Numbers are little-endian, and the length must be exact. The article "The
/// archive format" specifies the byte layout.
package struct Envelope: Sendable {
    /// The block size in bytes to which plaintexts are padded (`sodium_pad`), so that lengths reveal little.
    package static let paddingBlock = 512

    private static let commitmentByteCount = 32

    package let slots: [KeySlot]
    private let header: EnvelopeHeader

    private let prefix: [UInt8]
    private let ciphertext: ArraySlice<UInt8>
    private let commitment: ArraySlice<UInt8>

    package var generation: UInt64 { header.generation }
    package var storeID: [UInt8] { header.storeID }
    package var dataKeyID: [UInt8] { header.dataKeyID }

    /// Parses the structure without decrypting it, and checks each number before using it.
    package init(parsing bytes: [UInt8]) throws(EnvelopeError) {
        header = try EnvelopeHeader(parsing: bytes)
        let prefixCount = header.prefixByteCount
        let ciphertextEnd = prefixCount + header.ciphertextByteCount
        guard bytes.count == ciphertextEnd + Self.commitmentByteCount else {
            throw .damaged("it has \(bytes.count) bytes instead of \(ciphertextEnd + Self.commitmentByteCount)")
        }
        let plaintextCount = header.ciphertextByteCount - SubkeyPair.tagLength
        guard plaintextCount > 0, plaintextCount % Self.paddingBlock == 0 else {
            throw .damaged("its ciphertext length is not valid")
        }
        slots = try stride(from: EnvelopeHeader.byteCount, to: prefixCount, by: KeySlot.byteCount).map {
            start throws(EnvelopeError) in try KeySlot(parsing: bytes[start..<start + KeySlot.byteCount])
        }
        prefix = Array(bytes[..<prefixCount])
        ciphertext = bytes[prefixCount..<ciphertextEnd]
        commitment = bytes[ciphertextEnd...]
    }

    package func unlock(
        _ slot: KeySlot, with opener: KeySlot.Opener, context: SealingContext
    ) throws(EnvelopeError) -> ArchiveKeys {
        let dataKey = try slot.unwrap(with: opener, storeID: storeID, context: context)
        return ArchiveKeys(storeID: storeID, dataKeyID: dataKeyID, dataKey: dataKey, slots: slots)
    }

    /// Decrypts the content into guarded memory. The first `count` bytes are the plaintext, and the other bytes are
    /// padding.
    package func open(
        with keys: ArchiveKeys, context: SealingContext
    ) throws(EnvelopeError) -> (plaintext: GuardedBytes, count: Int) {
        guard keys.storeID == storeID, keys.dataKeyID == dataKeyID, header.isBoundToPlace == context.isBoundToPlace
        else { throw .authenticationFailed }
        let context = context.boundBytes ?? context.bytes
        let fileKeys = keys.fileKeys(salt: header.salt)
        let expected = fileKeys.commitment(
            to: Self.commitmentMessage(prefix: prefix, context: context, nonce: header.nonce, ciphertext: ciphertext))
        guard Sodium.isEqual(expected, commitment),
            let plaintext = fileKeys.decrypt(ciphertext, nonce: header.nonce, additionalData: prefix + context)
        else { throw .authenticationFailed }
        var count = 0
        let status = plaintext.withUnsafeBytes { plaintext in
            sodium_unpad(
                &count, plaintext.baseAddress!.assumingMemoryBound(to: UInt8.self), plaintext.count, Self.paddingBlock)
        }
        guard status == 0 else { throw .damaged("its padding is not valid") }
        return (plaintext, count)
    }

    package static func paddedByteCount(_ count: Int) -> Int {
        (count / paddingBlock + 1) * paddingBlock
    }

    /// Pads a buffer of ``paddedByteCount(_:)`` bytes whose first `count` bytes are the plaintext.
    package static func pad(_ buffer: UnsafeMutableRawBufferPointer, count: Int) {
        let start = buffer.baseAddress!.assumingMemoryBound(to: UInt8.self)
        let status = sodium_pad(nil, start, count, paddingBlock, buffer.count)
        precondition(status == 0, "the buffer is too short for its padding")
    }

    package static func seal(
        _ plaintext: GuardedBytes, generation: UInt64, keys: ArchiveKeys, context: SealingContext
    ) -> [UInt8] {
        precondition(plaintext.count > 0 && plaintext.count.isMultiple(of: paddingBlock), "the plaintext is not padded")
        let header = EnvelopeHeader(
            slotCount: keys.slots.count, ciphertextByteCount: plaintext.count + SubkeyPair.tagLength,
            generation: generation, storeID: keys.storeID, dataKeyID: keys.dataKeyID,
            isBoundToPlace: context.isBoundToPlace)
        let context = context.boundBytes ?? context.bytes
        let prefix = keys.slots.reduce(into: header.bytes) { $0 += $1.bytes }
        let fileKeys = keys.fileKeys(salt: header.salt)
        let ciphertext = fileKeys.encrypt(plaintext, nonce: header.nonce, additionalData: prefix + context)
        let commitment = fileKeys.commitment(
            to: commitmentMessage(prefix: prefix, context: context, nonce: header.nonce, ciphertext: ciphertext[...]))
        return prefix + ciphertext + commitment
    }

    private static func commitmentMessage(
        prefix: [UInt8], context: [UInt8], nonce: [UInt8], ciphertext: ArraySlice<UInt8>
    ) -> [UInt8] {
        var message: [UInt8] = []
        message.reserveCapacity(3 * 4 + prefix.count + context.count + nonce.count + ciphertext.count)
        message.append(lengthPrefixed: prefix)
        message.append(lengthPrefixed: context)
        message.append(littleEndian: UInt32(nonce.count + ciphertext.count))
        message += nonce
        message += ciphertext
        return message
    }
}
