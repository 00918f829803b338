import AccountKit

struct TokenSearch {
    private let tokens: [Secret]

    init(_ tokens: [Secret]) {
        // Ignore shorter tokens, which could match by chance.
        self.tokens = tokens.filter { $0.byteCount >= 8 }
    }

    func findsToken(in text: some Collection<UInt8>) -> Bool {
        tokens.contains { token in
            token.withUnsafeBytes { token in
                // Compare only the end of a long token, so that a hostile file cannot make the search slow. The
                // beginning is less distinctive: all JSON Web Tokens of a service begin alike.
                let end = token.suffix(32)
                return text.indices.contains { text[$0...].starts(with: end) }
            }
        }
    }
}
