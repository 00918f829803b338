package import AccountSupport

/// The record of the reason for the end of the last session, as a small property list.
///
/// The record is not encrypted, because AccountKit must read it without a key. Anyone who can write to the storage can
/// therefore forge the record. For this reason `decode` accepts only an error code and a service's URL, and no other
/// text.
enum SignOutRecord {
    private struct Record: Codable {
        var reason: String
        var date: Date?
        var issuer: String?
        var detail: String?
        var unfinishedRefresh: Date?

        /// The names of the entries that are kept for the user's next sign-in.
        var kept: [String]?
    }

    static func write(
        _ signOut: SignOut, keeping kept: [ArchiveEntry] = [], in transaction: any ArchiveTransaction
    ) async throws {
        let previous = try await transaction.read(.signOut)?.revision
        _ = try await transaction.replace(.signOut, with: try encode(signOut, keeping: kept), ifRevision: previous)
    }

    static func encode(_ signOut: SignOut, keeping kept: [ArchiveEntry] = []) throws(AccountError) -> [UInt8] {
        let record = Record(
            reason: signOut.reason.rawValue, date: signOut.date, issuer: signOut.issuer, detail: signOut.detail,
            unfinishedRefresh: signOut.unfinishedRefresh, kept: kept.isEmpty ? nil : kept.map(\.rawValue))
        do {
            return [UInt8](try PropertyListEncoder.xml.encode(record))
        } catch {
            throw AccountError(.inaccessible, "the sign-out cannot be recorded", cause: error)
        }
    }

    /// Returns the entries that were kept for the user's next sign-in when the service ended the session.
    static func kept(in bytes: [UInt8]?) -> [ArchiveEntry] {
        guard let bytes, let record = try? PropertyListDecoder().decode(Record.self, from: Data(bytes)),
            record.reason == SignOut.Reason.sessionEnded.rawValue
        else { return [] }
        return (ArchiveEntry.keptProfiles + ArchiveEntry.offlineKeys).filter {
            record.kept?.contains($0.rawValue) == true
        }
    }

    static func decode(_ bytes: [UInt8]?) -> SignOut {
        guard let bytes, let record = try? PropertyListDecoder().decode(Record.self, from: Data(bytes)),
            let reason = SignOut.Reason(rawValue: record.reason)
        else { return .neverSignedIn }
        return SignOut(
            reason, date: record.date, issuer: record.issuer.flatMap { isURL($0) ? $0 : nil },
            detail: record.detail.flatMap { isErrorCode($0) ? $0 : nil },
            unfinishedRefresh: record.unfinishedRefresh)
    }

    /// Returns whether a text is an OAuth error code (RFC 6749, section 5.2), without the spaces and punctuation of a
    /// sentence or an address.
    private static func isErrorCode(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    private static func isURL(_ text: String) -> Bool {
        (text.hasPrefix("https://") || text.hasPrefix("http://")) && text.utf8.count <= 2048
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}

extension PropertyListEncoder {
    /// An encoder for small records that are legible in an editor.
    package static var xml: PropertyListEncoder {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .xml
        return encoder
    }
}
