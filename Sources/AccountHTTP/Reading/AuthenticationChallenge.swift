import HTTPTypes

/// One challenge of a `WWW-Authenticate` header field (RFC 9110, section 11.6.1).
struct AuthenticationChallenge: Sendable, Hashable {
    /// The scheme in lower case, such as `bearer`.
    var scheme: String

    /// The value of schemes without parameters, such as Negotiate.
    var token68: String?

    /// The parameters, by name in lower case. The parser drops a repeated parameter, because it is ambiguous.
    var parameters: [String: String] = [:]

    /// Parses the challenges in header fields. After a syntax error, the parser ignores the incomplete challenge and
    /// the rest of the field. It also ignores fields longer than 8 KiB, and challenges after the sixteenth.
    static func challenges(in fields: [String]) -> [AuthenticationChallenge] {
        var result: [AuthenticationChallenge] = []
        for field in fields where field.utf8.count <= 8192 && result.count < 16 {
            var parser = Parser(field)
            result += parser.challenges().prefix(16 - result.count)
        }
        return result
    }

    /// Returns parameters of a Bearer challenge that breaks the grammar, for example because it has no commas, or no
    /// quotation marks around a URL. `nil` if the first parameter is not in the fields. Use this only for values that are
    /// verified in another way.
    static func malformed(in fields: [String], with names: [String]) -> AuthenticationChallenge? {
        for field in fields where field.utf8.count <= 8192 {
            var challenge = AuthenticationChallenge(scheme: "bearer")
            for name in names { challenge.parameters[name] = value(of: name, inMalformed: field) }
            if let first = names.first, challenge.parameters[first] != nil { return challenge }
        }
        return nil
    }

    private static func value(of name: String, inMalformed field: String) -> String? {
        let bytes = Array(field.utf8)
        let lowercased = bytes.map { 65...90 ~= $0 ? $0 | 0x20 : $0 }
        guard let range = lowercased.firstRange(of: Array((name + "=").utf8)),
            range.lowerBound == 0 || " \t,".utf8.contains(bytes[range.lowerBound - 1])
        else { return nil }
        var rest = bytes[range.upperBound...]
        let quote = rest.first.flatMap { "\"'".utf8.contains($0) ? $0 : nil }
        if quote != nil { rest = rest.dropFirst() }
        let value = rest.prefix { byte in quote.map { byte != $0 } ?? !" \t,".utf8.contains(byte) }
        return value.isEmpty ? nil : String(decoding: value, as: UTF8.self)
    }
}

extension ServiceResponse {
    /// The challenges of the response.
    var challenges: [AuthenticationChallenge] {
        AuthenticationChallenge.challenges(in: head.headerFields[values: .wwwAuthenticate])
    }
}

extension AuthenticationChallenge {
    /// A parser that reads each byte at most twice.
    private struct Parser {
        private let bytes: [UInt8]
        private var index = 0

        init(_ field: String) { bytes = Array(field.utf8) }

        private struct Malformed: Error {}

        mutating func challenges() -> [AuthenticationChallenge] {
            var whole: [AuthenticationChallenge] = []
            var current: AuthenticationChallenge?
            var repeated: Set<String> = []
            do throws(Malformed) {
                while skipToElement() {
                    let name = try token().lowercased()
                    let afterName = index
                    skip(" \t")
                    if current != nil, current?.token68 == nil, next == UInt8(ascii: "=") {
                        let value = try parameterValue()
                        if repeated.contains(name) || current?.parameters.updateValue(value, forKey: name) != nil {
                            repeated.insert(name)
                            current?.parameters[name] = nil
                        }
                    } else {
                        if let current { whole.append(current) }
                        current = AuthenticationChallenge(scheme: name)
                        repeated = []
                        index = afterName
                        try challengeBegan(&current)
                    }
                }
            } catch {
                return whole
            }
            if let current { whole.append(current) }
            return whole
        }

        /// Parses the text after a scheme: the end, a comma, or spaces followed by a token68 or the first parameter.
        private mutating func challengeBegan(_ challenge: inout AuthenticationChallenge?) throws(Malformed) {
            skip(" \t")
            guard let next, next != UInt8(ascii: ",") else { return }
            guard " \t".utf8.contains(bytes[index - 1]) else { throw Malformed() }
            let start = index
            var text = text(of: Self.token68Characters)
            if !text.isEmpty {
                text += self.text(of: Array("=".utf8))
                skip(" \t")
                if self.next == nil || self.next == UInt8(ascii: ",") {
                    challenge?.token68 = text
                    return
                }
            }
            index = start
            let name = try token().lowercased()
            challenge?.parameters[name] = try parameterValue()
        }

        private mutating func parameterValue() throws(Malformed) -> String {
            skip(" \t")
            guard next == UInt8(ascii: "=") else { throw Malformed() }
            index += 1
            skip(" \t")
            let value = next == UInt8(ascii: "\"") ? try quotedString() : try token()
            skip(" \t")
            guard next == nil || next == UInt8(ascii: ",") else { throw Malformed() }
            return value
        }

        private mutating func token() throws(Malformed) -> String {
            let text = text(of: Self.tokenCharacters)
            guard !text.isEmpty else { throw Malformed() }
            return text
        }

        private mutating func quotedString() throws(Malformed) -> String {
            index += 1
            var value: [UInt8] = []
            while let byte = next {
                index += 1
                switch byte {
                case UInt8(ascii: "\""):
                    return String(decoding: value, as: UTF8.self)
                case UInt8(ascii: "\\"):
                    guard let escaped = next, Self.isText(escaped) else { throw Malformed() }
                    index += 1
                    value.append(escaped)
                case _ where Self.isText(byte):
                    value.append(byte)
                default:
                    throw Malformed()
                }
            }
            throw Malformed()
        }

        private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

        private mutating func skip(_ characters: String) {
            while let byte = next, characters.utf8.contains(byte) { index += 1 }
        }

        private mutating func skipToElement() -> Bool {
            skip(" \t,")
            return next != nil
        }

        private mutating func text(of characters: [UInt8]) -> String {
            let start = index
            while let byte = next, characters.contains(byte) { index += 1 }
            return String(decoding: bytes[start..<index], as: UTF8.self)
        }

        private static func isText(_ byte: UInt8) -> Bool {
            byte == UInt8(ascii: "\t") || (byte >= 0x20 && byte != 0x7F)
        }

        private static let lettersAndDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
        private static let tokenCharacters = Array((lettersAndDigits + "!#$%&'*+-.^_`|~").utf8)
        private static let token68Characters = Array((lettersAndDigits + "-._~+/").utf8)
    }
}
