import Foundation
import Testing

@testable import AccountDocuments

struct PropertyListDocumentTests {
    private struct Everything: Codable, Equatable {
        var text = "Bär"
        var number = -5
        var real = 0.5
        var flag = true
        var date = Date(timeIntervalSinceReferenceDate: 1)
        var data = Data([1, 2, 3])
        var list = ["a", "b"]
        var table = ["k": ["x": 1]]
    }

    @Test(arguments: [DocumentFormat.binary, .xml])
    func `Encodes and decodes all value types of a property list unchanged`(format: DocumentFormat) throws {
        let bytes = [UInt8](try PropertyListDocument.encode(Everything(), format: format))
        #expect(try PropertyListDocument.decode(Everything.self, from: bytes) == Everything())
    }

    @Test(arguments: [DocumentFormat.binary, .xml])
    func `Decodes a property list with any flipped bit to a value or an error`(format: DocumentFormat) throws {
        let bytes = [UInt8](try PropertyListDocument.encode(Everything(), format: format))
        var failures = 0
        for index in bytes.indices {
            for bit in 0..<8 {
                var changed = bytes
                changed[index] ^= 1 << bit
                do { _ = try PropertyListDocument.decode(Everything.self, from: changed) } catch { failures += 1 }
            }
        }
        #expect(failures > bytes.count)
    }

    @Test(arguments: [DocumentFormat.binary, .xml])
    func `Rejects any truncated property list document`(format: DocumentFormat) throws {
        let bytes = [UInt8](try PropertyListDocument.encode(Everything(), format: format))
        let end = format == .xml ? bytes.count - "</plist>\n".utf8.count : bytes.count
        for count in 0..<end {
            #expect(throws: (any Error).self, "\(count)") {
                try PropertyListDocument.decode(Everything.self, from: Array(bytes.prefix(count)))
            }
        }
    }

    @Test func `Rejects a property list whose nesting would exhaust the stack`() throws {
        let count = 20_000
        for comment in ["", "<!-- </array> -->", "<![CDATA[</array>]]>"] {
            let deep =
                "<plist>" + String(repeating: "<array>" + comment, count: count)
                + String(repeating: "</array>", count: count) + "</plist>"
            #expect(throws: PropertyListDocument.Unreadable.self) {
                try PropertyListDocument.decode([String].self, from: Array(deep.utf8))
            }
        }
        // An array that contains itself.
        let loop: [UInt8] =
            Array("bplist00".utf8) + [0xA1, 0, 8] + [0, 0, 0, 0, 0, 0, 1, 1]
            + [0, 0, 0, 0, 0, 0, 0, 1] + [0, 0, 0, 0, 0, 0, 0, 0] + [0, 0, 0, 0, 0, 0, 0, 10]
        #expect(throws: PropertyListDocument.Unreadable.self) {
            try PropertyListDocument.decode([String].self, from: loop)
        }
    }
}
