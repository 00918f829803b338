import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Reads single values of a file as what a field needs.
struct FieldReader {
    let source: SourceBytes

    private var remainingBytes = ImportLimits.copiedByteCount

    init(source: SourceBytes) {
        self.source = source
    }

    /// A text as a string.
    mutating func string(_ text: SourceText) throws(ImportFault) -> String {
        let string = try source.string(text, limit: remainingBytes)
        remainingBytes -= string.utf8.count
        return string
    }

    /// Data as such.
    mutating func data(_ data: SourceData) throws(ImportFault) -> Data {
        guard data.byteCount <= remainingBytes else { throw .damaged("it repeats its data too often") }
        remainingBytes -= data.byteCount
        return try source.data(data)
    }

    /// A text or whole number as a text; `nil` for anything else.
    mutating func text(_ value: LegacyValue) throws(ImportFault) -> String? {
        switch value {
        case .text(let text): try string(text)
        case .integer(let number): String(number)
        case .real(let number): Int64(exactly: number).map { String($0) }
        default: nil
        }
    }

    /// A whole number, also as a text; `nil` for anything else.
    ///
    /// Archivers keep equal numbers once, and a 1 that was met as `true` before comes back as `true`.
    mutating func integer(_ value: LegacyValue) throws(ImportFault) -> Int64? {
        switch value {
        case .integer(let number): Int64(exactly: number)
        case .real(let number): Int64(exactly: number)
        case .boolean(let value): value ? 1 : 0
        case .text(let text): Int64(try string(text))
        default: nil
        }
    }

    /// A truth value, also as a number or text; `nil` for anything else.
    mutating func boolean(_ value: LegacyValue) throws(ImportFault) -> Bool? {
        switch value {
        case .boolean(let value): value
        case .integer(0): false
        case .integer(1): true
        case .text(let text): Bool(try string(text).lowercased())
        default: nil
        }
    }

    /// A time; `nil` for anything else.
    mutating func date(_ value: LegacyValue) throws(ImportFault) -> Date? {
        switch value {
        case .date(let date): LegacyDate.isInCalendar(date) ? date : nil
        case .integer(let seconds): LegacyDate.unixDate(Double(seconds))
        case .real(let seconds): LegacyDate.unixDate(seconds)
        case .text(let text): LegacyDate.date(try string(text))
        default: nil
        }
    }
}
