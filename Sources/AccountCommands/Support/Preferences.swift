package import AccountKit
import AccountSupport

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
package import Foundation
#endif

/// The settings of the commands, none of which is secret. Each session has its own folder, so that the cost of an
/// access does not grow with the number of sessions.
package struct Preferences: Sendable {
    private struct DefaultSession: Codable {
        var session: String
    }

    private static let defaultSessionEntry = ArchiveEntry(rawValue: "DefaultSession.plist")
    private static let keysEntry = ArchiveEntry(rawValue: "Keys.plist")
    private static let serviceEntry = ArchiveEntry(rawValue: "Service.plist")
    private static let clientEntry = ArchiveEntry(rawValue: "Client.plist")
    private static let rulesEntry = ArchiveEntry(rawValue: "Rules.plist")

    let folder: String
    private let container: AppContainer

    package init(container: AppContainer) {
        self.container = container
        folder = container.preferencesPath
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

    /// The client of the last sign-in without a user on this machine.
    func client(of session: SessionName) throws(AccountError) -> ClientSettings? {
        try read(Self.clientEntry, in: folder(of: session))
    }

    func setClient(_ client: ClientSettings, of session: SessionName) async throws {
        if try self.client(of: session) == client { return }
        try await write(client, to: Self.clientEntry, in: folder(of: session))
    }

    func keySettings(of session: SessionName) throws(AccountError) -> KeySettings {
        try read(Self.keysEntry, in: folder(of: session)) ?? KeySettings()
    }

    func setKeySettings(_ settings: KeySettings, of session: SessionName) async throws {
        if try keySettings(of: session) == settings { return }
        try await write(settings, to: Self.keysEntry, in: folder(of: session))
    }

    package func rules() throws(AccountError) -> RuleSet {
        try read(Self.rulesEntry, in: folder) ?? RuleSet()
    }

    /// Changes the stored rules atomically, so that changes by other processes are kept.
    package func changeRules<Result: Sendable>(_ change: (inout RuleSet) throws -> Result) async throws -> Result {
        try await storage(folder).withTransaction(timeout: .seconds(10)) { transaction in
            let stored = try await transaction.read(Self.rulesEntry)
            let before: RuleSet = try stored.map { try decode($0.bytes, Self.rulesEntry, in: folder) } ?? RuleSet()
            var rules = before
            let result = try change(&rules)
            if rules != before {
                _ = try await transaction.replace(
                    Self.rulesEntry, with: try encode(rules), ifRevision: stored?.revision)
            }
            return result
        }
    }

    func folder(of session: SessionName) -> String {
        folder + "/Sessions/" + session.rawValue
    }

    private func storage(_ folder: String) -> FileArchiveStorage { FileArchiveStorage(folder: folder, in: container) }

    private func read<Value: Decodable>(
        _ entry: ArchiveEntry, in folder: String
    ) throws(AccountError) -> Value? {
        guard let stored = try storage(folder).read(entry) else { return nil }
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
                .misconfigured, "\(path) is not a setting of this tool",
                hint: "remove the file with `rm \(path.shellWord)`")
        }
    }

    private func encode(_ value: some Encodable) throws -> [UInt8] {
        [UInt8](try PropertyListEncoder.xml.encode(value))
    }

    private func write(_ value: some Encodable, to entry: ArchiveEntry, in folder: String) async throws {
        let bytes = try encode(value)
        try await storage(folder).withTransaction(timeout: .seconds(10)) { transaction in
            let revision = try await transaction.read(entry)?.revision
            _ = try await transaction.replace(entry, with: bytes, ifRevision: revision)
        }
    }
}
