import AccountKit
import AccountCrypto

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct AccountMapper {
    var warnings = Warnings()
    private var fields: [String: LegacyValue]
    private var namesByKey: [String: [String]]
    private var profile = UserProfile()

    init(fields: [String: LegacyValue]) {
        self.fields = fields.filter { if case .null = $0.value { false } else { true } }
        namesByKey = Dictionary(grouping: self.fields.keys.sorted(), by: KnownField.folded)
    }

    mutating func account(now: Date) throws(AccountError) -> Account {
        if fields["sealed"] != nil, fields["format"] != nil {
            throw .unusable("It is already an account archive of this program; nothing was imported.")
        }
        // Read the tokens first, to detect them in other fields.
        let accessToken = try accessToken()
        let refreshToken = optionalToken(.refreshToken)
        let idToken = optionalToken(.idToken)
        warnings.search = TokenSearch([accessToken, refreshToken, idToken].compactMap(\.self))

        let id = try id()
        let credentials = Credentials(
            accessToken: accessToken, refreshToken: refreshToken, idToken: idToken,
            tokenType: word(.tokenType) ?? "Bearer", scopes: scopes(), clientID: text(.clientID),
            issuedAt: date(.issuedAt) ?? now, expiresAt: date(.expiresAt))
        if let (name, _) = take(.expiresIn) {
            leaveOut(name, "it is relative to a time that the file does not contain, so the expiry is unknown")
        }
        let issuer = issuer()
        let username = text(.username)
        takeKnownFields()
        takeOtherFields()
        return Account(id: id, issuer: issuer, username: username, credentials: credentials, profile: profile)
    }

    private mutating func take(_ field: KnownField) -> (name: String, value: LegacyValue)? {
        for key in field.keys {
            // Of two spellings of a key, use the first in alphabetical order, so that the result is deterministic.
            guard let name = namesByKey[key]?.first, let value = fields.removeValue(forKey: name) else { continue }
            return (name, value)
        }
        return nil
    }

    private mutating func leaveOut(_ name: String, _ reason: String) {
        warnings.leaveOut([name], reason)
    }

    // MARK: Required fields

    private mutating func accessToken() throws(AccountError) -> Secret {
        guard let (name, value) = take(.accessToken) else {
            throw .unusable("It has no access token, under `token` or `access_token`; sign in again instead.")
        }
        let what = "Its access token, `\(Warnings.displayName(name))`,"
        guard case .text(let text) = value else { throw .unusable("\(what) is \(value.kind) and must be a string.") }
        guard !text.isEmpty else { throw .unusable("\(what) is empty; sign in again instead.") }
        guard let token = Self.token(text) else {
            throw .unusable("\(what) contains characters that are not valid in a token.")
        }
        return token
    }

    private mutating func optionalToken(_ field: KnownField) -> Secret? {
        guard let (name, value) = take(field) else { return nil }
        guard case .text(let text) = value else {
            leaveOut(name, "it is \(value.kind) and must be a string")
            return nil
        }
        if text.isEmpty { return nil }
        let token = Self.token(text)
        if token == nil { leaveOut(name, "it contains characters that are not valid in a token") }
        return token
    }

    /// Returns the token if it consists of visible ASCII, which a request header can contain (RFC 6749, appendix A.12,
    /// without the space).
    private static func token(_ text: WipedBytes) -> Secret? {
        text.allSatisfy { $0 > 0x20 && $0 < 0x7F } ? Secret(bytes: text) : nil
    }

    private mutating func id() throws(AccountError) -> String {
        guard let (name, value) = take(.id) else {
            throw .unusable("It has no user ID, under `id`, `user_id` or `sub`; sign in again instead.")
        }
        guard let id = value.string else {
            throw .unusable(
                "Its user ID, `\(Warnings.displayName(name))`, is \(value.kind), not a string or whole number.")
        }
        guard !id.isEmpty else { throw .unusable("Its user ID, `\(Warnings.displayName(name))`, is empty.") }
        guard !warnings.search.findsToken(in: id.utf8) else { throw .damaged("its user ID contains the token") }
        return id
    }

    // MARK: Optional fields

    /// Returns a string, or an integer as text. An empty string counts as absent.
    private mutating func text(_ field: KnownField) -> String? {
        guard let (name, value) = take(field) else { return nil }
        guard let text = value.string else {
            leaveOut(name, "it is \(value.kind) and must be a string")
            return nil
        }
        guard !warnings.search.findsToken(in: text.utf8) else {
            leaveOut(name, "it contains a token")
            return nil
        }
        return text.isEmpty ? nil : text
    }

    private mutating func word(_ field: KnownField) -> String? {
        guard let text = text(field) else { return nil }
        guard text.utf8.count <= 64, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            leaveOut(field.keys[0], "it is not one word")
            return nil
        }
        return text
    }

    private mutating func issuer() -> String? {
        guard let text = text(.issuer) else { return nil }
        guard text.hasPrefix("https://") || text.hasPrefix("http://"), !text.contains(where: \.isWhitespace) else {
            leaveOut("issuer", "it is not a web address")
            return nil
        }
        return text
    }

    private mutating func scopes() -> [String] {
        texts(.scopes).flatMap { $0.split { $0 == " " || $0 == "," }.map(String.init) }
    }

    private mutating func texts(_ field: KnownField) -> [String] {
        guard let (name, value) = take(field) else { return [] }
        let values = if case .array(let values) = value { values } else { [value] }
        var result: [String] = []
        for value in values {
            guard let text = value.string, !warnings.search.findsToken(in: text.utf8) else {
                leaveOut(name, "it must be a string or a list of strings")
                return []
            }
            if !text.isEmpty { result.append(text) }
        }
        return result
    }

    private mutating func date(_ field: KnownField) -> Date? {
        guard let (name, value) = take(field) else { return nil }
        if let date = value.date { return date }
        leaveOut(name, "it is not a time in seconds since 1970 or in a known format")
        return nil
    }

    // MARK: The profile

    private mutating func takeKnownFields() {
        profile.nickname = text(.nickname)
        profile.email = text(.email)
        profile.picture = text(.picture)
        profile.groups = texts(.groups)
        profile.phoneNumber = text(.phoneNumber)
        profile["signature_text"] = text(.signatureText).map { .string($0) }
        profile["qq_number"] = text(.qqNumber).map { .string($0) }
        if let (name, value) = take(.points) {
            profile["points"] = value.integer.map { .integer($0) }
            if profile["points"] == nil { leaveOut(name, "it is not a whole number") }
        }
        if let (name, value) = take(.emailVerified) {
            profile.isEmailVerified = value.boolean
            if profile.isEmailVerified == nil { leaveOut(name, "it is neither true nor false") }
        }
        if let (name, value) = take(.registeredAt) {
            profile.registeredAt = value.date
            if profile.registeredAt == nil { keepRegistrationText(name, value) }
        }
    }

    private mutating func keepRegistrationText(_ name: String, _ value: LegacyValue) {
        guard let text = value.string, !warnings.search.findsToken(in: text.utf8) else {
            return leaveOut(name, "it is \(value.kind) and not a time")
        }
        if !text.isEmpty { profile["register_time_text"] = .string(text) }
    }

    private mutating func takeOtherFields() {
        for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
            if profile[name] != nil {
                leaveOut(name, "another key has the same meaning")
            } else if let kept = profileValue(value, at: [name]) {
                profile[name] = kept
            }
        }
    }

    /// Returns the value for the profile. If AccountKit cannot or must not keep the value, this method returns `nil`
    /// and adds a warning. The path ends with the value's key.
    mutating func profileValue(_ value: LegacyValue, at path: [String]) -> ProfileValue? {
        let key = path.last ?? ""
        if SecretName.matches(key) { return leaveOut(path, "it looks like a secret") }
        if warnings.search.findsToken(in: key.utf8) { return leaveOut(path, "it contains a token") }
        return content(value, at: path)
    }

    private mutating func content(_ value: LegacyValue, at path: [String]) -> ProfileValue? {
        switch value {
        case .null: return nil
        case .boolean(let value): return .boolean(value)
        case .integer(let number):
            guard let number = Int64(exactly: number) else { return leaveOut(path, "the number is too large") }
            return .integer(number)
        case .real(let number): return number.isFinite ? .real(number) : leaveOut(path, "it is not a number")
        case .date(let date): return LegacyDate.isInCalendar(date) ? .date(date) : leaveOut(path, "it is not a date")
        case .text(let text):
            guard !warnings.search.findsToken(in: text) else { return leaveOut(path, "it contains a token") }
            return .string(String(decoding: text, as: UTF8.self))
        case .data(let data):
            if ["bplist", "<?xml", "<plist", "<!DOCTYPE"].contains(where: { data.starts(with: $0.utf8) }) {
                return leaveOut(path, "it is itself an archive, which may contain secrets")
            }
            return warnings.search.findsToken(in: data) ? leaveOut(path, "it contains a token") : .data(Data(data))
        case .array(let elements): return .array(elements.compactMap { content($0, at: path) })
        case .dictionary(let members):
            var result: [String: ProfileValue] = [:]
            for (name, member) in members { result[name] = profileValue(member, at: path + [name]) }
            return .dictionary(result)
        case .reference, .object, .undecodable: return leaveOut(path, "it is \(value.kind)")
        }
    }

    private mutating func leaveOut(_ path: [String], _ reason: String) -> ProfileValue? {
        warnings.leaveOut(path, reason)
        return nil
    }
}
