import AccountKit
import AccountCrypto
import AccountSupport

/// The JSON object of a response, with its secrets in guarded memory. Strings would stay in memory after their release, so
/// the members contain a placeholder for each secret.
struct ResponseObject: Sendable {
    /// The members, with a placeholder for each secret. The placeholder is empty if the secret is empty.
    private(set) var members: JSONObject

    /// Whether the text repeats a member or is not UTF-8, so that the meaning of the text is unclear.
    let isAmbiguous: Bool

    /// The secrets that are not empty. If the text repeats a name, the first value counts.
    private(set) var secrets: [String: Secret] = [:]

    /// Parses a text. Returns `nil` if the text is not a JSON object, or exceeds the limits of ``JSONReader``. If the
    /// text is ambiguous, ``members`` has no `error` (RFC 6749, section 3.2, forbids repeated parameters).
    init?(_ text: WipedBytes, secrets names: Set<String>) {
        let read = text.withUnsafeBytes { bytes -> (JSONObject, [String: Secret], isAmbiguous: Bool)? in
            guard let (_, object) = JSONReader.checked(bytes) else { return nil }
            var reader = JSONReader(bytes, at: object.lowerBound)
            let (found, isWhole) = reader.members()
            guard isWhole else { return nil }
            var members: JSONObject = [:]
            var secrets: [String: Secret] = [:]
            for (name, value) in found where members[name] == nil {
                if names.contains(name), let secret = reader.secret(value) {
                    members[name] = .string(secret.isEmpty ? "" : "*")
                    if !secret.isEmpty { secrets[name] = Secret(bytes: secret) }
                } else {
                    guard let decoded = reader.decoded(value) else { return nil }
                    members[name] = decoded
                }
            }
            return (members, secrets, members.count < found.count || !reader.isUTF8)
        }
        guard let read else { return nil }
        (members, secrets, isAmbiguous) = read
        if isAmbiguous { members["error"] = nil }
    }
}

extension JSONReader {
    /// Returns the bytes of a secret: the text of a string, or the digits of a whole number, which some services issue.
    /// Returns `nil` for another value, and for a string that is not valid.
    func secret(_ value: Range<Int>) -> WipedBytes? {
        if let digits = digits(value) { return WipedBytes(text[digits]) }
        return string(value).flatMap { unescaped($0) }
    }
}
