import AccountCrypto
import Testing

@testable import AccountKit

/// Expects that none of the texts is in the archive of an account, not even for a reader who has its key.
func expectArchive(
    of account: Account, containsNone texts: [String], sourceLocation: SourceLocation = #_sourceLocation
) throws {
    let (plaintext, _) = try SealedPlaintext.encode(account)
    let bytes = plaintext.withUnsafeBytes { Array($0) }
    func contains(_ text: String) -> Bool { bytes.firstRange(of: Array(text.utf8)) != nil }
    // Check that the search finds what the archive contains.
    for text in [account.id, account.credentials.accessToken.reveal()] {
        #expect(contains(text), sourceLocation: sourceLocation)
    }
    for text in texts { #expect(!contains(text), "\(text)", sourceLocation: sourceLocation) }
}
