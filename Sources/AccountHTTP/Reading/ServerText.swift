import AccountKit

/// Makes text from a service fit for an error, a terminal and a log.
///
/// Such text is untrusted: it may hold control sequences for a terminal, or the very token that was sent.
struct ServerText: Sendable {
    let secrets: [Secret]

    /// At most 200 visible characters; `nil` if there are none, or if the text repeats a secret.
    func shown(_ text: String?) -> String? {
        // Longer texts are not worth the search for secrets.
        guard let text, text.utf8.count <= 4096, !repeatsSecret(text) else { return nil }
        var visible = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar.properties.isWhitespace {
                visible.append(" ")
            } else if !Self.isHidden(scalar) {
                visible.append(scalar)
            }
        }
        let words = String(visible).split(separator: " ").joined(separator: " ")
        // Once more: a control character in the middle may have hidden a secret.
        guard !words.isEmpty, !repeatsSecret(words) else { return nil }
        return words.count <= 200 ? words : words.prefix(199) + "…"
    }

    /// - Parameter minimum: How long a secret must be to count, in bytes. A short one may stand in anything by chance.
    func repeatsSecret(_ text: String, notShorterThan minimum: Int = 1) -> Bool {
        let text = Array(text.utf8)
        return secrets.contains { secret in
            secret.withUnsafeBytes { secret in
                guard let first = secret.first, minimum...max(minimum, text.count) ~= secret.count,
                    secret.count <= text.count
                else { return false }
                return (0...(text.count - secret.count)).contains {
                    text[$0] == first && text[$0..<($0 + secret.count)].elementsEqual(secret)
                }
            }
        }
    }

    /// Controls, and characters that reorder or hide the ones beside them.
    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
