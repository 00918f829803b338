import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The settings of the commands, none of them secret.
///
/// Each session has a folder of its own, so that the cost does not grow with their number.
struct Preferences {
    private struct DefaultSession: Codable {
        var session: String
    }

    private static let defaultSessionEntry = ArchiveEntry(rawValue: "DefaultSession.plist")
    private static let keysEntry = ArchiveEntry(rawValue: "Keys.plist")
    private static let serviceEntry = ArchiveEntry(rawValue: "Service.plist")
    private static let rulesEntry = ArchiveEntry(rawValue: "Rules.plist")

    let folder: String
    private let container: AppContainer

    init(container: AppContainer) {
        self.container = container
        let path = container.preferences.path(percentEncoded: false)
        folder = path.hasSuffix("/") ? String(path.dropLast()) : path
    }

    func defaultSession() throws(AccountError) -> SessionName {
        guard let stored: DefaultSession = try read(Self.defaultSessionEntry, in: folder) else { return .default }
        return try SessionName(stored.session)
    }

    func setDefaultSession(_ session: SessionName) async throws {
        try await write(DefaultSession(session: session.rawValue), to: Self.defaultSessionEntry, in: folder)
    }

    func service(of session: SessionName) throws(AccountError) -> AccountService? {
        try read(Self.serviceEntry, in: folder(of: session))
    }

    func setService(_ service: AccountService, of session: SessionName) async throws {
        if try self.service(of: session) == service { return }
        try await write(service, to: Self.serviceEntry, in: folder(of: session))
    }

    func keySettings(of session: SessionName) throws(AccountError) -> KeySettings {
        try read(Self.keysEntry, in: folder(of: session)) ?? KeySettings()
    }

    func setKeySettings(_ settings: KeySettings, of session: SessionName) async throws {
        if try keySettings(of: session) == settings { return }
        try await write(settings, to: Self.keysEntry, in: folder(of: session))
    }

    func rules() throws(AccountError) -> RuleSet {
        try read(Self.rulesEntry, in: folder) ?? RuleSet()
    }

    /// Changes the rules, whatever other processes have made of them by then.
    func changeRules<Result: Sendable>(_ change: (inout RuleSet) throws -> Result) async throws -> Result {
        let transaction = try await FileArchiveStorage(folder: folder, in: container).beginTransaction(
            timeout: .seconds(10))
        do {
            let stored = try await transaction.read(Self.rulesEntry)
            let before: RuleSet = try stored.map { try decode($0.bytes, Self.rulesEntry, in: folder) } ?? RuleSet()
            var rules = before
            let result = try change(&rules)
            if rules != before {
                _ = try await transaction.replace(
                    Self.rulesEntry, with: try encode(rules), ifRevision: stored?.revision)
            }
            await transaction.end()
            return result
        } catch {
            await transaction.end()
            throw error
        }
    }

    func folder(of session: SessionName) -> String {
        folder + "/Sessions/" + session.rawValue
    }

    private func read<Value: Decodable>(
        _ entry: ArchiveEntry, in folder: String
    ) throws(AccountError) -> Value? {
        guard let stored = try FileArchiveStorage(folder: folder, in: container).read(entry) else { return nil }
        return try decode(stored.bytes, entry, in: folder)
    }

    private func decode<Value: Decodable>(
        _ bytes: [UInt8], _ entry: ArchiveEntry, in folder: String
    ) throws(AccountError) -> Value {
        do {
            return try PropertyListDecoder().decode(Value.self, from: Data(bytes))
        } catch {
            let path = "\(folder)/\(entry.rawValue)"
            throw AccountError(
                .misconfigured, "\(path) is not a setting of this tool: remove it with `rm \(path.shellWord)`")
        }
    }

    private func encode(_ value: some Encodable) throws -> [UInt8] {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .xml
        return [UInt8](try encoder.encode(value))
    }

    private func write(_ value: some Encodable, to entry: ArchiveEntry, in folder: String) async throws {
        let bytes = try encode(value)
        let transaction = try await FileArchiveStorage(folder: folder, in: container).beginTransaction(
            timeout: .seconds(10))
        do {
            let revision = try await transaction.read(entry)?.revision
            _ = try await transaction.replace(entry, with: bytes, ifRevision: revision)
        } catch {
            await transaction.end()
            throw error
        }
        await transaction.end()
    }
}
