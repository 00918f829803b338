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

    /// The number of objects, arrays and strings around the members that this reading searches.
    private let depthLimit: Int

    /// Whether this reading searches strings for objects.
    private let searchesStrings: Bool

    /// The bytes that may still be searched. Damaged objects within each other are searched several times, so without a limit a
    /// short body could take hours.
    private var budget: Int

    /// The names with a meaning, by their ``plain(_:)`` form.
    private let standardNames: [String: String]

    /// Whether the rest of the body is missing, so that its last value may be a part.
    private let isCut: Bool

    /// The greatest number of objects, arrays and strings around the members.
    private static let depthLimit = 3

    /// The bytes that are searched for each byte of a body.
    private static let effort = 64

    /// The number of objects beside each other that are searched.
    private static let objectLimit = 32

    private static let meaningful = [
        "token_type", "scope", "expires_in", "expires_at", "expires_on", "expires", "expiry", "issued_token_type",
        "error", "sub",
    ]

    /// Reads a body, or with `isCut` the beginning of one. Returns `nil` if it contains no secret of these names.
    ///
    /// Another user may choose a value in the response, such as the name of a group. So the tokens that are nested least count,
    /// and a string is searched only if no object contains tokens.
    init?(_ body: WipedBytes, isCut: Bool = false, secrets names: Set<String>) {
        self.init(names, isCut: isCut)
        let text = Self.utf8(body)
        budget = Self.effort * max(text.count, 4096)
        for searchesStrings in [false, true] where secrets.isEmpty && !hasError {
            for depthLimit in 0...Self.depthLimit where rank < 2 && !hasError {
                var reading = ReadableResponse(of: self, searchesStrings, depthLimit: depthLimit)
                reading.read(text, 0)
                budget = reading.budget
                if reading.rank > rank || secrets.isEmpty { self = reading }
            }
        }
        guard !secrets.isEmpty else { return nil }
    }

    private init(_ names: Set<String>, isCut: Bool) {
        self.names = names
        self.isCut = isCut
        standardNames = Dictionary((names + Self.meaningful).map { (Self.plain($0), $0) }) { first, _ in first }
        (depthLimit, searchesStrings, budget) = (0, false, 0)
    }

    /// Creates an empty reading of the body or a part of it.
    private init(of other: ReadableResponse, _ searchesStrings: Bool, depthLimit: Int) {
        (names, standardNames, isCut, budget) = (other.names, other.standardNames, other.isCut, other.budget)
        (self.searchesStrings, self.depthLimit) = (searchesStrings, depthLimit)
    }

    private mutating func read(_ text: WipedBytes, _ depth: Int) {
        let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let rest = text.starts(with: byteOrderMark) ? text.dropFirst(3) : text[...]
        let start = rest.firstIndex { !" \t\r\n".utf8.contains($0) } ?? text.endIndex
        guard let first = text[start...].first, !Self.isPage(text[start...]) else { return }
        // A text before the object is a warning of the server's program, a guard against its use as a script, or another
        // object. It may contain braces.
        var next = start
        for _ in 0..<Self.objectLimit where secrets.isEmpty && !hasError {
            guard let brace = text[next...].firstIndex(of: UInt8(ascii: "{")) else { break }
            next = readObject(text, at: brace, depth)
        }
        if secrets.isEmpty, searchesStrings, first == UInt8(ascii: "\"") {
            var member = WipedBytes(Array("{\"value\":".utf8))
            member.append(contentsOf: text[start...])
            _ = readObject(member, at: 0, depth)
        }
        if secrets.isEmpty, depth == 0, !"<{[\"".utf8.contains(first) {
            readForm(text[start...])
        }
    }

    private static func isPage(_ text: WipedBytes.SubSequence) -> Bool {
        let start = String(decoding: text.prefix(9), as: UTF8.self).lowercased()
        return start == "<!doctype" || start.hasPrefix("<html") || start.hasPrefix("<?xml")
    }

    /// Returns a text in UTF-8. The zero bytes of its first two characters, which are ASCII, or a byte order mark show that a
    /// text is in UTF-16 (RFC 4627, section 3).
    private static func utf8(_ text: WipedBytes) -> WipedBytes {
        guard text.count >= 2 else { return text }
        let high: Int
        switch (text[0], text[1]) {
        case (0xFE, 0xFF), (0, 1...): high = 0
        case (0xFF, 0xFE), (1..., 0): high = 1
        default: return text
        }
        var result = WipedBytes(capacity: text.count)
        let units = stride(from: 0, to: text.count - 1, by: 2).lazy
            .map { UInt16(text[$0 + high]) << 8 | UInt16(text[$0 + 1 - high]) }
        _ = transcode(units.makeIterator(), from: UTF16.self, to: UTF8.self, stoppingOnError: false) {
            result.append($0)
        }
        return result
    }

    // MARK: Names and secrets

    /// Returns a name without case and separators. Some services write `accessToken` or `Access-Token`.
    private static func plain(_ name: String) -> String {
        name.lowercased().filter { $0 != "_" && $0 != "-" }
    }

    private func standard(_ name: String) -> String { standardNames[Self.plain(name)] ?? name }

    /// Notes a secret, unless it is already known. A refresh token is sent back exactly as it arrived, but spaces alone are
    /// none, and neither is the name of no value in the language of the server.
    private mutating func note(_ value: WipedBytes, as name: String) {
        let trimmed = value.trimmed
        let isMissing = trimmed.isEmpty || ["null", "undefined"].contains { trimmed.elementsEqual($0.utf8) }
        guard secrets[name] == nil, !isMissing else { return }
        secrets[name] = name == "refresh_token" ? Secret(bytes: value) : Secret(bytes: trimmed)
    }

    /// How much of the tokens is known.
    private var rank: Int { secrets["access_token"] != nil ? 2 : secrets["refresh_token"] != nil ? 1 : 0 }

    // MARK: JSON

    /// Reads an object. Returns the index after it or, if it is damaged, after its brace.
    private mutating func readObject(_ text: WipedBytes, at index: Int, _ depth: Int) -> Int {
        guard budget > 0 else { return text.endIndex }
        return text.withUnsafeBytes { bytes in
            var reader = JSONReader(bytes, at: index)
            let (found, isWhole) = reader.members()
            budget -= reader.index - index
            members = [:]
            // The exact names come first.
            for isExact in [true, false] {
                for (name, value) in found {
                    let standard = standard(name)
                    if (standard == name) == isExact { note(value, as: standard, reader) }
                }
            }
            // An object around the tokens, as in `{"data": {…}}`. Beside an error, it could contain other tokens.
            if rank < 2, !hasError, depth < depthLimit { readParts(found.map(\.value), reader, depth) }
            return isWhole ? reader.index : index + 1
        }
    }

    /// Reads the objects in members, and takes the members and secrets of the best.
    private mutating func readParts(_ values: [Range<Int>], _ reader: JSONReader, _ depth: Int) {
        var best = self
        for value in values where best.rank < 2 {
            guard let inner = inner(of: value, reader) else { continue }
            var part = ReadableResponse(of: self, searchesStrings, depthLimit: depthLimit)
            part.read(inner, depth + 1)
            budget = part.budget
            if part.rank > best.rank || best.secrets.isEmpty && !part.secrets.isEmpty { best = part }
        }
        (members, secrets) = (
            best.members.merging(members) { part, _ in part }, best.secrets.merging(secrets) { part, _ in part }
        )
    }

    private mutating func note(_ value: Range<Int>, as name: String, _ reader: JSONReader) {
        if names.contains(name) {
            if let secret = reader.secret(value) { note(secret, as: name) }
            return
        }
        if name == "error", !Self.isNothing(reader.text[value]) { hasError = true }
        guard members[name] == nil, standardNames[Self.plain(name)] != nil else { return }
        members[name] = Self.value(value, reader)
    }

    /// Returns whether the value of `error` means that there is none.
    private static func isNothing(_ value: Slice<UnsafeRawBufferPointer>) -> Bool {
        return ["null", "false", "0", "\"\"", "{}", "[]"].contains { value.elementsEqual($0.utf8) }
    }

    /// Returns the text of an object in a value, which may also be in an array or, as text, in a string.
    private func inner(of value: Range<Int>, _ reader: JSONReader) -> WipedBytes? {
        let string = reader.string(value)
        guard searchesStrings || string == nil else { return nil }
        let text = string.map { reader.unescaped($0) } ?? WipedBytes(reader.text[value])
        guard let text, let first = text.trimmed.first, "{[\"".utf8.contains(first) else { return nil }
        return text
    }

    /// Returns a value, or `nil` if it cannot be read. An object may contain tokens, which must not become strings.
    private static func value(_ range: Range<Int>, _ reader: JSONReader) -> JSONValue? {
        let text = UnsafeRawBufferPointer(rebasing: reader.text[range])
        guard !text.contains(UInt8(ascii: "{")) else { return nil }
        guard let (reader, range) = JSONReader.checked(text), let value = reader.decoded(range), value != .null else {
            return nil
        }
        return value
    }

    // MARK: A form

    /// Reads a form (RFC 1866, section 8.2.1), which some services send instead of JSON. Some write one member a line.
    private mutating func readForm(_ text: WipedBytes.SubSequence) {
        var pairs = text.split { "&\r\n".utf8.contains($0) }
        if isCut { _ = pairs.popLast() }
        for pair in pairs {
            guard let end = pair.firstIndex(of: UInt8(ascii: "=")), let name = Self.decoded(pair[..<end]),
                let value = Self.decoded(pair[end...].dropFirst()), value.count > 0
            else { continue }
            let key = standard(String(decoding: name, as: UTF8.self))
            if names.contains(key) {
                note(value, as: key)
                continue
            }
            if key == "error" { hasError = true }
            if members[key] == nil {
                members[key] = .string(String(decoding: value, as: UTF8.self))
            }
        }
    }

    /// Returns the bytes of a name or value, or `nil` for an invalid escape.
    static func decoded(_ text: WipedBytes.SubSequence) -> WipedBytes? {
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
