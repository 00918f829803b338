import AccountKit
import AccountSupport

/// Makes text from a service safe to show: it may contain terminal control sequences, or the token that was sent.
struct ServerText: Sendable {
    let secrets: [Secret]

    /// Returns at most 200 visible characters; `nil` if there are none, or if the text repeats a secret.
    func shown(_ text: String?) -> String? {
        // Drop longer texts, which are not worth a search for secrets.
        guard let text, text.utf8.count <= 4096, !repeatsSecret(text) else { return nil }
        var visible = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar.properties.isWhitespace {
                visible.append(" ")
            } else if !scalar.controlsDisplay {
                visible.append(scalar)
            }
        }
        let words = String(visible).split(separator: " ").joined(separator: " ")
        // Check again: a control character in the middle may have hidden a secret.
        guard !words.isEmpty, !repeatsSecret(words) else { return nil }
        return words.count <= 200 ? words : words.prefix(199) + "…"
    }

    /// - Parameter minimum: In bytes. A shorter secret may occur in any text by chance.
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
}
