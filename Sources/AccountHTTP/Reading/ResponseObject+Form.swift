import AccountCrypto

extension ResponseObject {
    /// Parses a form (RFC 1866, section 8.2.1), which GitHub sends if a proxy has removed the field `Accept` from the request. Each
    /// value is a string. Returns `nil` if the text is not a form.
    init?(form text: WipedBytes, secrets names: Set<String>) {
        var object = WipedBytes()
        for pair in text.split(separator: UInt8(ascii: "&")) {
            guard let end = pair.firstIndex(of: UInt8(ascii: "=")),
                let name = ReadableResponse.decoded(pair[..<end]),
                let value = ReadableResponse.decoded(pair[end...].dropFirst())
            else { return nil }
            object.append(object.isEmpty ? UInt8(ascii: "{") : UInt8(ascii: ","))
            guard Self.append(name, to: &object) else { return nil }
            object.append(UInt8(ascii: ":"))
            guard Self.append(value, to: &object) else { return nil }
        }
        object.append(UInt8(ascii: "}"))
        self.init(object, secrets: names)
    }

    /// Appends a JSON string. Returns `false` if the text contains a control character.
    private static func append(_ text: WipedBytes, to object: inout WipedBytes) -> Bool {
        object.append(UInt8(ascii: "\""))
        for byte in text {
            guard byte >= 0x20 else { return false }
            if "\"\\".utf8.contains(byte) { object.append(UInt8(ascii: "\\")) }
            object.append(byte)
        }
        object.append(UInt8(ascii: "\""))
        return true
    }
}
