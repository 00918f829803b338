import AccountKit
import AccountSupport

/// Makes text from a service safe to show. The text may contain terminal control sequences or the token of the request.
struct ServerText: Sendable {
    let secrets: [Secret]

    /// Returns at most 200 visible characters, or `nil` if the text has no visible characters or repeats a secret.
    func shown(_ text: String?) -> String? {
        // Drop longer texts instead of searching them for secrets.
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

    /// - Parameter minimum: The minimum length of a secret to search for, in bytes. A shorter secret may occur in any
    ///   text by chance.
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
