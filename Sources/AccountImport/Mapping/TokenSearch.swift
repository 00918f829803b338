import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Looks for the tokens of an account in other texts of a file, such as a picture's address.
///
/// Takes a time that grows with the length of the text alone, whatever a hostile file puts into it and into the token.
/// Source: Knuth, Morris and Pratt, "Fast Pattern Matching in Strings" (1977).
struct TokenSearch {
    /// Shorter tokens are not looked for: they would be found by chance.
    private static let shortestToken = 8

    private struct Pattern {
        let token: Secret

        /// For each length of a match, how long a shorter one ends at the same place.
        let shorterMatches: [Int]
    }

    private let patterns: [Pattern]

    init(_ tokens: [Secret]) {
        patterns = tokens.filter { $0.byteCount >= Self.shortestToken }.map { token in
            let shorterMatches = token.withUnsafeBytes { bytes in
                var result = [0, 0]
                for index in 1..<bytes.count {
                    result.append(Self.extend(result[index], by: bytes[index], in: bytes, result))
                }
                return result
            }
            return Pattern(token: token, shorterMatches: shorterMatches)
        }
    }

    /// Whether one of the tokens is in `text`.
    func findsToken(in text: String) -> Bool {
        findsToken(in: Array(text.utf8))
    }

    /// Whether one of the tokens is in `data`.
    func findsToken(in data: Data) -> Bool {
        findsToken(in: Array(data))
    }

    private func findsToken(in text: [UInt8]) -> Bool {
        patterns.contains { pattern in
            guard pattern.token.byteCount <= text.count else { return false }
            return pattern.token.withUnsafeBytes { token in
                var length = 0
                for byte in text {
                    length = Self.extend(length, by: byte, in: token, pattern.shorterMatches)
                    if length == token.count { return true }
                }
                return false
            }
        }
    }

    /// How much of the token is matched after one more byte.
    private static func extend(
        _ matched: Int, by byte: UInt8, in token: UnsafeRawBufferPointer, _ shorterMatches: [Int]
    ) -> Int {
        var length = matched
        while length > 0, token[length] != byte { length = shorterMatches[length] }
        return token[length] == byte ? length + 1 : length
    }
}
