import AccountSupport

/// Makes text from a server safe to show and to pass on. The text may repeat the tokens of the request, and contain
/// terminal control sequences.
package struct ServerText: Sendable {
    package let secrets: [Secret]

    /// The minimum length, in bytes, of a secret in text that is passed on. A shorter secret may occur in any text by
    /// chance.
    package static let shortestSecret = 8

    package init(secrets: [Secret]) { self.secrets = secrets }

    /// Returns at most 200 visible characters, or `nil` if the text has no visible characters or repeats a secret.
    ///
    /// Joiners, which emoji and some scripts require, stay. Other invisible characters are removed.
    package func shown(_ text: String?) -> String? {
        // Drop longer texts instead of searching them for secrets.
        guard let text, text.utf8.count <= 4096, !repeatsSecret(text) else { return nil }
        var kept = String.UnicodeScalarView()
        var visible = String.UnicodeScalarView()
        var rest = text.unicodeScalars[...]
        while let scalar = rest.first {
            let flag = rest.prefix(rest.flagLength)
            kept.append(contentsOf: flag)
            visible.append(contentsOf: flag)
            if flag.isEmpty {
                if scalar.properties.isWhitespace {
                    kept.append(" ")
                    visible.append(" ")
                } else if !scalar.controlsDisplay {
                    if !scalar.properties.isDefaultIgnorableCodePoint { visible.append(scalar) }
                    if !scalar.isInvisible || scalar.isJoinerOrMark { kept.append(scalar) }
                }
            }
            rest = rest.dropFirst(max(flag.count, 1))
        }
        // Check again: invisible characters in the middle may have hidden a secret.
        let plain = String(visible).split(separator: " ").joined(separator: " ")
        guard !plain.isEmpty, !repeatsSecret(plain) else { return nil }
        let words = String(kept).split(separator: " ").joined(separator: " ")
        return words.count <= 200 ? words : words.prefix(199) + "…"
    }

    /// Returns whether a text contains a secret, literally or with escapes of JSON or of URLs.
    ///
    /// - Parameter minimum: The minimum length of a secret to search for, in bytes.
    package func repeatsSecret(_ text: String, notShorterThan minimum: Int = 1) -> Bool {
        let text = Array(text.utf8)
        return secrets.contains { secret in
            guard max(minimum, 1)...max(minimum, 1, text.count) ~= secret.byteCount else { return false }
            return secret.withUnsafeBytes { secret in
                text.indices.contains { if case .whole = Self.match(secret, in: text, at: $0) { true } else { false } }
            }
        }
    }
}

// MARK: - Text in pieces

extension ServerText {
    /// Replaces the secrets in a body that arrives in pieces.
    package struct Replacement: Sendable {
        package static let text = "[token removed]"

        private let secrets: [Secret]

        /// The bytes with which a secret, or an escape of its first byte, may begin.
        private let beginnings: [UInt8]

        /// The end of the pieces so far, if a secret may begin there.
        private var held: [UInt8] = []

        package init(of text: ServerText) {
            secrets = text.secrets.filter { $0.byteCount >= ServerText.shortestSecret }
            beginnings =
                secrets.compactMap { $0.withUnsafeBytes(\.first) } + [UInt8(ascii: "\\"), UInt8(ascii: "%")]
        }

        /// Returns the text that is complete after a piece.
        package mutating func next(_ piece: [UInt8]) -> [UInt8] { replaced(piece, isLast: false) }

        /// Returns the rest of the text after the last piece.
        package mutating func last() -> [UInt8] { replaced([], isLast: true) }

        private mutating func replaced(_ piece: [UInt8], isLast: Bool) -> [UInt8] {
            guard !secrets.isEmpty else { return piece }
            let text = held.isEmpty ? piece : held + piece
            held = []
            var result: [UInt8] = []
            var (copied, searched) = (0, 0)
            while let start = text[searched...].firstIndex(where: { beginnings.contains($0) }) {
                switch match(in: text, at: start) {
                case .whole(let end):
                    result += text[copied..<start]
                    result += Self.text.utf8
                    (copied, searched) = (end, end)
                case .beginning where !isLast:
                    held = Array(text[start...])
                    return result + text[copied..<start]
                case .beginning, .none: searched = start + 1
                }
            }
            return copied == 0 ? text : result + text[copied...]
        }

        private func match(in text: [UInt8], at start: Int) -> Match {
            var isBeginning = false
            for secret in secrets {
                switch secret.withUnsafeBytes({ ServerText.match($0, in: text, at: start) }) {
                case .whole(let end): return .whole(end: end)
                case .beginning: isBeginning = true
                case .none: break
                }
            }
            return isBeginning ? .beginning : .none
        }
    }
}

// MARK: - Search

extension ServerText {
    private enum Match {
        case none

        /// The text ends before the secret.
        case beginning

        case whole(end: Int)
    }

    private static func match(_ secret: UnsafeRawBufferPointer, in text: [UInt8], at start: Int) -> Match {
        var index = start
        for byte in secret {
            guard index < text.count else { return .beginning }
            if text[index] == byte {
                index += 1
                continue
            }
            switch escape(of: byte, in: text, at: index) {
            case .whole(let end): index = end
            case .beginning: return .beginning
            case .none: return .none
            }
        }
        return .whole(end: index)
    }

    /// Matches an escape of a byte: `\/` and `\u002f` in JSON (RFC 8259, section 7), and `%2F` in URLs (RFC 3986,
    /// section 2.1).
    private static func escape(of byte: UInt8, in text: [UInt8], at index: Int) -> Match {
        var start = index + 1
        var digitCount = 2
        switch text[index] {
        case UInt8(ascii: "%"): break
        case UInt8(ascii: "\\"):
            guard start < text.count else { return .beginning }
            guard text[start] == UInt8(ascii: "u") else {
                return text[start] == byte && "\"\\/".utf8.contains(byte) ? .whole(end: start + 1) : .none
            }
            start += 1
            digitCount = 4
        default: return .none
        }
        var value = 0
        let digits = text[start...].prefix(digitCount)
        for digit in digits {
            guard let digit = Character(Unicode.Scalar(digit)).hexDigitValue else { return .none }
            value = value << 4 | digit
        }
        guard digits.count == digitCount else { return .beginning }
        return value == Int(byte) ? .whole(end: start + digitCount) : .none
    }
}

extension Unicode.Scalar {
    /// Whether the character has neither a shape nor a width.
    fileprivate var isInvisible: Bool {
        properties.generalCategory == .format && properties.isDefaultIgnorableCodePoint
    }

    /// Whether the character joins or separates letters or emoji (UAX #31, section 2.3), or marks the direction of its
    /// neighbors without reordering other text (UAX #9, section 2.6).
    fileprivate var isJoinerOrMark: Bool {
        properties.isJoinControl || value == 0x061C || value == 0x200E || value == 0x200F
    }
}
