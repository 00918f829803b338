import CSodium

extension GuardedBytes {
    /// Parses a key of 64 hexadecimal digits, or in Base64 in either alphabet, with or without padding (RFC 4648,
    /// sections 4, 5 and 8).
    package static func key(fromText text: UnsafeRawBufferPointer) -> GuardedBytes? {
        let isSpace: (UInt8) -> Bool = { [0x09, 0x0A, 0x0D, 0x20].contains($0) }
        guard let first = text.firstIndex(where: { !isSpace($0) }),
            let last = text.lastIndex(where: { !isSpace($0) })
        else { return nil }
        let word = UnsafeRawBufferPointer(rebasing: text[first...last])
        return word.withMemoryRebound(to: CChar.self) { word in
            if let key = decoded({ sodium_hex2bin($0, 32, word.baseAddress, word.count, nil, $1, $2) }, word) {
                return key
            }
            for variant in [
                sodium_base64_VARIANT_ORIGINAL, sodium_base64_VARIANT_ORIGINAL_NO_PADDING,
                sodium_base64_VARIANT_URLSAFE, sodium_base64_VARIANT_URLSAFE_NO_PADDING,
            ] {
                let decode: Decoding = {
                    sodium_base642bin($0, 32, word.baseAddress, word.count, nil, $1, $2, variant)
                }
                if let key = decoded(decode, word) { return key }
            }
            return nil
        }
    }

    /// The 44 characters of a key of 32 bytes in Base64 (RFC 4648, section 4), and a null byte.
    package var keyText: GuardedBytes {
        precondition(count == 32, "a key has 32 bytes")
        return withUnsafeBytes { key in
            GuardedBytes(count: 45) { text in
                _ = sodium_bin2base64(
                    text.baseAddress!.assumingMemoryBound(to: CChar.self), text.count,
                    key.baseAddress!.assumingMemoryBound(to: UInt8.self), key.count, sodium_base64_VARIANT_ORIGINAL)
            }
        }
    }

    private typealias Decoding = (
        UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<Int>, UnsafeMutablePointer<UnsafePointer<CChar>?>
    ) -> Int32

    private static func decoded(_ decode: Decoding, _ word: UnsafeBufferPointer<CChar>) -> GuardedBytes? {
        struct NotKey: Error {}
        return try? GuardedBytes(count: 32) { key throws(NotKey) in
            var count = 0
            var end: UnsafePointer<CChar>?
            let status = decode(key.baseAddress!.assumingMemoryBound(to: UInt8.self), &count, &end)
            guard status == 0, count == 32, end == word.baseAddress! + word.count else { throw NotKey() }
        }
    }
}
