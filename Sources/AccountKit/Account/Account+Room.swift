#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension Account {
    /// How many bytes to free before the next attempt to save the account.
    private static let leastFreed = 32 * 1024

    /// Removes data that AccountKit can obtain again: first the token endpoint, then derived tokens, beginning with the
    /// oldest, and then the largest fields of the profile. Returns `false` if only the tokens of the session are left,
    /// which are never removed.
    mutating func makeRoom() -> Bool {
        if credentials.tokenEndpoint != nil {
            credentials.tokenEndpoint = nil
            return true
        }
        var freed = 0
        guard credentials.derivedTokens.isEmpty else {
            while freed < Self.leastFreed, !credentials.derivedTokens.isEmpty {
                freed += credentials.derivedTokens.removeFirst().credentials.accessToken.byteCount
            }
            return true
        }
        let fields = profile.fields.map { (name: $0, byteCount: $0.utf8.count + $1.byteCount) }
            .sorted { ($0.byteCount, $0.name) > ($1.byteCount, $1.name) }
        for field in fields where freed < Self.leastFreed {
            profile[field.name] = nil
            freed += field.byteCount
        }
        return !fields.isEmpty
    }
}

extension ProfileValue {
    /// The approximate size in an archive, in bytes.
    fileprivate var byteCount: Int {
        switch self {
        case .string(let text): text.utf8.count
        case .data(let data): data.count
        case .integer, .real, .boolean, .date, .null: 9
        case .array(let values): values.reduce(0) { $0 + $1.byteCount + 2 }
        case .dictionary(let fields): fields.reduce(0) { $0 + $1.key.utf8.count + $1.value.byteCount + 4 }
        }
    }
}
