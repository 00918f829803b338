import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// Values without a meaning of their own become profile fields, without the secrets among them.
extension AccountMapper {
    /// A value for the profile; `nil`, with a warning, for what must not or cannot be kept.
    ///
    /// - Parameter path: The key of the value, after those of the dictionaries around it.
    mutating func profileValue(_ value: LegacyValue, at path: [String]) -> ProfileValue? {
        let key = path.last ?? ""
        if SecretName.matches(key) { return leaveOut(path, "it looks like a secret") }
        if warnings.search.findsToken(in: key.utf8) { return leaveOut(path, "it holds a token") }
        return content(value, at: path)
    }

    private mutating func content(_ value: LegacyValue, at path: [String]) -> ProfileValue? {
        switch value {
        case .null: return nil
        case .boolean(let value): return .boolean(value)
        case .integer(let number):
            guard let number = Int64(exactly: number) else { return leaveOut(path, "it is too large a number") }
            return .integer(number)
        case .real(let number): return number.isFinite ? .real(number) : leaveOut(path, "it is not a number")
        case .date(let date): return LegacyDate.isInCalendar(date) ? .date(date) : leaveOut(path, "it is not a date")
        case .text(let text):
            guard !warnings.search.findsToken(in: text) else { return leaveOut(path, "it holds a token") }
            return .string(String(decoding: text, as: UTF8.self))
        case .data(let data):
            if ["bplist", "<?xml", "<plist", "<!DOCTYPE"].contains(where: { data.starts(with: $0.utf8) }) {
                return leaveOut(path, "it is an archive itself, which may hold secrets")
            }
            return warnings.search.findsToken(in: data) ? leaveOut(path, "it holds a token") : .data(Data(data))
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
