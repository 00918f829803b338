import AccountKit

/// Looks for the tokens of an account in other texts of a file, such as the URL of a picture.
struct TokenSearch {
    /// Shorter tokens are not looked for: they would be found by chance.
    private static let shortestToken = 8

    /// How much of a token's end is looked for, so that the time grows with the text alone, whatever a hostile file has for
    /// a token. Its beginning says less: all JSON Web Tokens of a service begin alike.
    private static let longestEnd = 32

    private let tokens: [Secret]

    init(_ tokens: [Secret]) {
        self.tokens = tokens.filter { $0.byteCount >= Self.shortestToken }
    }

    /// Whether one of the tokens is in `text`.
    func findsToken(in text: some Sequence<UInt8>) -> Bool {
        guard !tokens.isEmpty else { return false }
        let text = Array(text)
        return tokens.contains { token in
            token.withUnsafeBytes { token in
                let end = token.suffix(Self.longestEnd)
                return text.indices.dropLast(end.count - 1).contains { text[$0...].starts(with: end) }
            }
        }
    }

    /// Whether one of the tokens is in `text`.
    func findsToken(in text: String) -> Bool {
        findsToken(in: text.utf8)
    }
}
