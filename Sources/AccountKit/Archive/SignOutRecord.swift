#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The record of why the last session ended: a small property list, in the clear since it says nothing personal.
enum SignOutRecord {
    private struct Record: Codable {
        var reason: String
        var date: Date?
        var issuer: String?
        var detail: String?
        var unfinishedRefresh: Date?
    }

    static func write(_ signOut: SignOut, in transaction: any ArchiveTransaction) async throws {
        let previous = try await transaction.read(.signOut)?.revision
        _ = try await transaction.replace(.signOut, with: try encode(signOut), ifRevision: previous)
    }

    static func encode(_ signOut: SignOut) throws(AccountError) -> [UInt8] {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .xml
        do {
            return [UInt8](
                try encoder.encode(
                    Record(
                        reason: signOut.reason.rawValue, date: signOut.date, issuer: signOut.issuer,
                        detail: signOut.detail, unfinishedRefresh: signOut.unfinishedRefresh)))
        } catch {
            throw AccountError(.inaccessible, "the sign-out cannot be recorded", cause: error)
        }
    }

    /// Without a record, or with one that cannot be read, nobody is known to have signed in yet.
    static func decode(_ bytes: [UInt8]?) -> SignOut {
        guard let bytes, let record = try? PropertyListDecoder().decode(Record.self, from: Data(bytes)),
            let reason = SignOut.Reason(rawValue: record.reason)
        else { return .neverSignedIn }
        return SignOut(
            reason, date: record.date, issuer: record.issuer, detail: record.detail,
            unfinishedRefresh: record.unfinishedRefresh)
    }
}
