package typealias JSONObject = [String: JSONValue]

/// A JSON value (RFC 8259, section 3).
package enum JSONValue: Sendable, Hashable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case real(Double)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    /// Parses a text of any size, with up to 512 levels. Bytes that are not UTF-8 become U+FFFD.
    package init?(_ text: UnsafeRawBufferPointer) {
        guard let (reader, range) = JSONReader.checked(text, depthLimit: JSONReader.depthLimit, valueLimit: .max),
            let value = reader.decoded(range)
        else { return nil }
        self = value
    }

    /// Parses an object. Returns `nil` if the text is not an object, or if it exceeds the limits of
    /// ``JSONReader/checked(_:depthLimit:valueLimit:)``.
    // Inlined, so that the runtime does not have to look up the type by its name.
    @inlinable
    package static func object(from text: some Collection<UInt8>) -> JSONObject? {
        let read: JSONObject?? = text.withContiguousStorageIfAvailable { object(from: UnsafeRawBufferPointer($0)) }
        return read ?? Array(text).withUnsafeBytes { object(from: $0) }
    }

    package static func object(from bytes: UnsafeRawBufferPointer) -> JSONObject? {
        guard let (reader, range) = JSONReader.checked(bytes), case .object(let members)? = reader.decoded(range) else {
            return nil
        }
        return members
    }

    package var string: String? {
        if case .string(let value) = self { value } else { nil }
    }

    package var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .real(let value): value
        default: nil
        }
    }
}
