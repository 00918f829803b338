import AccountKit

/// Looks for the tokens of an account in other texts of a file, such as the URL of a picture.
struct TokenSearch {
    private let tokens: [Secret]

    init(_ tokens: [Secret]) {
        // Shorter ones would be found by chance.
        self.tokens = tokens.filter { $0.byteCount >= 8 }
    }

    func findsToken(in text: some Collection<UInt8>) -> Bool {
        tokens.contains { token in
            token.withUnsafeBytes { token in
                // Of a long token its end, so that the time grows with the text alone, whatever a hostile file has for a
                // token. Its beginning says less: all JSON Web Tokens of a service begin alike.
                let end = token.suffix(32)
                return text.indices.contains { text[$0...].starts(with: end) }
            }
        }
    }
}
