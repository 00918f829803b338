import AccountCrypto
import AccountKit
import AccountSupport

/// What can be read of a response that contains tokens.
///
/// *A response that spends a token is stored before it is judged.* A request for tokens spends a refresh token, a code or a
/// password, and the service does not repeat its response. So the body decides, and not its label or status: it is read as
/// JSON, or else as a form. A member that cannot be read is missing, and does not affect the others. The only limit is the
/// size.
///
/// ``ResponseObject`` is the strict reader for all other responses, and for the errors in these.
struct ReadableResponse {
    /// The members without the secrets. Of several with a name, the first that can be read counts.
    private(set) var members: JSONObject = [:]

    /// The secrets that are not empty.
    private(set) var secrets: [String: Secret] = [:]

    /// Whether the response reports an error, in any form.
    private(set) var hasError = false

    private let names: Set<String>

    /// The number of objects, arrays and strings around the members that are searched.
    private static let depthLimit = 3

    /// Reads a body. Returns `nil` if it contains no secret of these names.
    init?(_ body: WipedBytes, secrets names: Set<String>) {
        self.names = names
        read(body, 0)
        guard !secrets.isEmpty else { return nil }
    }

    private mutating func read(_ text: WipedBytes, _ depth: Int) {
        let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let rest = text.starts(with: byteOrderMark) ? text.dropFirst(3) : text[...]
        let start = rest.firstIndex { !" \t\r\n".utf8.contains($0) } ?? text.endIndex
        guard !Self.isPage(text[start...]) else { return }
        // A text before the object is a warning of the server's program, or a guard against its use as a script.
        if let brace = text[start...].firstIndex(of: UInt8(ascii: "{")) { readObject(text, at: brace, depth) }
        if secrets.isEmpty, depth == 0, text[start...].first == UInt8(ascii: "\"") {
            var member = WipedBytes(Array("{\"value\":".utf8))
            member.append(contentsOf: text[start...])
            readObject(member, at: 0, depth + 1)
        }
        if secrets.isEmpty, depth == 0, let first = text[start...].first, !"<{[\"".utf8.contains(first) {
            readForm(text[start...])
        }
    }

    private static func isPage(_ text: WipedBytes.SubSequence) -> Bool {
        let start = String(decoding: text.prefix(9), as: UTF8.self).lowercased()
        return start == "<!doctype" || start.hasPrefix("<html") || start.hasPrefix("<?xml")
    }

    // MARK: JSON

    private mutating func readObject(_ text: WipedBytes, at index: Int, _ depth: Int) {
        var scanner = JSONMemberScanner(text)
        let found = scanner.members(from: index).members
        for member in found {
            if names.contains(member.name) {
                // Some services issue numbers. The digits are the secret, whatever their value is.
                let value = member.number.map { WipedBytes(text[$0]) } ?? member.string.flatMap { scanner.unescaped($0) }
                guard secrets[member.name] == nil, let value, value.count > 0 else { continue }
                secrets[member.name] = Secret(bytes: value)
                continue
            }
            if member.name == "error", member.string?.isEmpty != true,
                !"nf".utf8.contains(text[member.value].first ?? 0)
            {
                hasError = true
            }
            if members[member.name] == nil {
                members[member.name] = Self.value(text[member.value])
            }
        }
        // An object around the tokens, as in `{"data": {…}}`. Beside an error, it could contain other tokens.
        guard secrets.isEmpty, !hasError, depth < Self.depthLimit else { return }
        for member in found where secrets.isEmpty {
            guard let text = inner(of: member, text, scanner) else { continue }
            var other = self
            other.members = [:]
            other.read(text, depth + 1)
            if !other.secrets.isEmpty { self = other }
        }
    }

    /// Returns the text of an object in a member, which may also be in an array or, as text, in a string.
    private func inner(
        of member: JSONMemberScanner.Member, _ text: WipedBytes, _ scanner: JSONMemberScanner
    ) -> WipedBytes? {
        if let string = member.string {
            return scanner.unescaped(string).flatMap { $0.first == UInt8(ascii: "{") ? $0 : nil }
        }
        guard let first = text[member.value].first, "{[".utf8.contains(first) else { return nil }
        return WipedBytes(text[member.value])
    }

    /// Returns a value, or `nil` if it cannot be read. An object may contain tokens, which must not become strings.
    private static func value(_ text: WipedBytes.SubSequence) -> JSONValue? {
        guard !text.contains(UInt8(ascii: "{")) else { return nil }
        var object = WipedBytes(Array("{\"value\":".utf8))
        object.append(contentsOf: text)
        object.append(UInt8(ascii: "}"))
        guard let value = JSONValue.object(from: object)?["value"], value != .null else { return nil }
        return value
    }

    // MARK: A form

    /// Reads a form (RFC 1866, section 8.2.1), which some services send instead of JSON.
    private mutating func readForm(_ text: WipedBytes.SubSequence) {
        for pair in text.split(separator: UInt8(ascii: "&")) {
            guard let end = pair.firstIndex(of: UInt8(ascii: "=")), let name = Self.decoded(pair[..<end]),
                let value = Self.decoded(pair[end...].dropFirst()), value.count > 0
            else { continue }
            let key = String(decoding: name, as: UTF8.self)
            if names.contains(key) {
                if secrets[key] == nil { secrets[key] = Secret(bytes: value) }
                continue
            }
            if key == "error" { hasError = true }
            if members[key] == nil {
                members[key] = .string(String(decoding: value, as: UTF8.self))
            }
        }
    }

    /// Returns the bytes of a name or value, or `nil` for an invalid escape.
    private static func decoded(_ text: WipedBytes.SubSequence) -> WipedBytes? {
        var result = WipedBytes()
        var rest = text
        while let last = rest.last, " \t\r\n".utf8.contains(last) { rest.removeLast() }
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): result.append(0x20)
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap({ Character(Unicode.Scalar($0)).hexDigitValue }),
                    let low = rest.popFirst().flatMap({ Character(Unicode.Scalar($0)).hexDigitValue })
                else { return nil }
                result.append(UInt8(high << 4 | low))
            default: result.append(byte)
            }
        }
        return result
    }
}
