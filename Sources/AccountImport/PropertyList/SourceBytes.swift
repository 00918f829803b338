import AccountKit
import Sealing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The bytes of a file, which holds tokens in the clear and so stays in guarded memory.
///
/// Every access is checked; what lies outside the file is `nil` or a fault, never a trap.
struct SourceBytes {
    private let storage: GuardedBytes

    init(_ storage: GuardedBytes) {
        self.storage = storage
    }

    var count: Int { storage.count }

    /// The byte at `index`; `nil` outside the file.
    subscript(index: Int) -> UInt8? {
        guard index >= 0, index < storage.count else { return nil }
        return storage.withUnsafeBytes { $0[index] }
    }

    /// Whether `text` stands at `index`.
    func starts(with text: StaticString, at index: Int = 0) -> Bool {
        text.withUTF8Buffer { expected in
            for offset in expected.indices where self[index + offset] != expected[offset] { return false }
            return true
        }
    }
}

// MARK: Copying out

extension SourceBytes {
    /// A text as a string.
    func string(_ text: SourceText, limit: Int) throws(ImportFault) -> String {
        if case .made(let string) = text { return string }
        var bytes: [UInt8] = []
        try forEachByte(of: text) { byte throws(ImportFault) in
            guard bytes.count < limit else { throw .damaged("a text is too long") }
            bytes.append(byte)
        }
        guard let string = String(validating: bytes, as: UTF8.self) else { throw .damaged("a text is not UTF-8") }
        return string
    }

    /// A text as a secret, which is nowhere else in between.
    func token(_ text: SourceText) throws(ImportFault) -> TokenText {
        var count = 0
        var isVisible = true
        try forEachByte(of: text) { byte throws(ImportFault) in
            count += 1
            isVisible = isVisible && byte > 0x20 && byte < 0x7F
        }
        guard count > 0 else { return .empty }
        guard isVisible else { return .otherText }
        let bytes = try GuardedBytes(count: count) { buffer throws(ImportFault) in
            var offset = 0
            try forEachByte(of: text) { byte throws(ImportFault) in
                buffer[offset] = byte
                offset += 1
            }
        }
        return .token(Secret(bytes, range: 0..<count))
    }

    /// Data as it is, or decoded from base64.
    func data(_ data: SourceData) throws(ImportFault) -> Data {
        switch data {
        case .raw(let range):
            return storage.withUnsafeBytes { Data($0[range.clamped(to: 0..<storage.count)]) }
        case .base64(let range):
            let text = range.lazy.compactMap { self[$0] }.filter { !$0.isXMLSpace }
            guard let decoded = Data(base64Encoded: Data(text)) else { throw .damaged("data is not base64") }
            return decoded
        }
    }
}

/// What a text is that stands where a token should.
enum TokenText {
    case empty

    /// Visible ASCII characters (RFC 6749, appendix A.12, without the space), which a request header can carry.
    case token(Secret)

    /// With other characters in it.
    case otherText
}
