#if Offline
import AccountSupport

/// A link in a `Link` header field (RFC 8288, section 3).
struct WebLink: Sendable, Hashable {
    /// The target as the service sent it, which may be relative to the URL of the request.
    var target: String

    /// The relations in lower case, such as `next`.
    var relations: [String]

    /// Parses the links in header fields. Names and relations match in any case, values may be unquoted, and a link may
    /// have several relations and any other parameters.
    ///
    /// The parser skips elements that are not links. It also skips links of another resource (`anchor`, section 3.2).
    static func links(in fields: [String]) -> [WebLink] {
        fields.flatMap { field in
            var parser = Parser(field)
            return parser.links()
        }
    }
}

extension WebLink {
    /// A parser that reads each byte once.
    private struct Parser {
        private let bytes: [UInt8]
        private var index = 0

        init(_ field: String) { bytes = Array(field.utf8) }

        mutating func links() -> [WebLink] {
            var links: [WebLink] = []
            while true {
                skip(" \t,")
                guard let byte = next else { return links }
                guard byte == UInt8(ascii: "<") else {
                    skipRest(of: ",")
                    continue
                }
                index += 1
                let target = text(until: ">")
                guard next != nil else { return links }
                index += 1
                let parameters = parameters()
                if parameters["anchor"] ?? "" == "" {
                    let relations = (parameters["rel"] ?? "").lowercased().split { $0.isWhitespace }
                    links.append(WebLink(target: target.trimmed, relations: relations.map(String.init)))
                }
            }
        }

        /// Only the first parameter of a name counts (section 3.3).
        private mutating func parameters() -> [String: String] {
            var parameters: [String: String] = [:]
            while true {
                skipRest(of: ";,")
                guard next == UInt8(ascii: ";") else { return parameters }
                index += 1
                let name = text(until: "=;,").trimmed.lowercased()
                var value = ""
                if next == UInt8(ascii: "=") {
                    index += 1
                    skip(" \t")
                    value = next == UInt8(ascii: "\"") ? quotedString() : text(until: ";,").trimmed
                }
                if parameters[name] == nil { parameters[name] = value }
            }
        }

        private mutating func quotedString() -> String {
            index += 1
            var value: [UInt8] = []
            while let byte = next {
                index += 1
                if byte == UInt8(ascii: "\"") { break }
                if byte == UInt8(ascii: "\\"), let escaped = next {
                    index += 1
                    value.append(escaped)
                } else {
                    value.append(byte)
                }
            }
            return String(decoding: value, as: UTF8.self)
        }

        private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

        private mutating func skip(_ characters: String) {
            while let byte = next, characters.utf8.contains(byte) { index += 1 }
        }

        /// Skips to one of the characters, and past quoted strings.
        private mutating func skipRest(of characters: String) {
            while let byte = next, !characters.utf8.contains(byte) {
                if byte == UInt8(ascii: "\"") { _ = quotedString() } else { index += 1 }
            }
        }

        private mutating func text(until characters: String) -> String {
            let start = index
            while let byte = next, !characters.utf8.contains(byte) { index += 1 }
            return String(decoding: bytes[start..<index], as: UTF8.self)
        }
    }
}
#endif
