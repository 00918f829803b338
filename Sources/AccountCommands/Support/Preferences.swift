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

    let folder: String

    init(container: AppContainer) {
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

    private func folder(of session: SessionName) -> String {
        folder + "/Sessions/" + session.rawValue
    }

    private func read<Value: Decodable>(
        _ entry: ArchiveEntry, in folder: String
    ) throws(AccountError) -> Value? {
        guard let stored = try FileArchiveStorage(folder: folder).read(entry) else { return nil }
        do {
            return try PropertyListDecoder().decode(Value.self, from: Data(stored.bytes))
        } catch {
            let path = "\(folder)/\(entry.rawValue)"
            throw AccountError(
                .misconfigured, "\(path) is not a setting of this tool: remove it with `rm \(path.shellWord)`")
        }
    }

    private func write(_ value: some Encodable, to entry: ArchiveEntry, in folder: String) async throws {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .xml
        let bytes = [UInt8](try encoder.encode(value))
        let transaction = try await FileArchiveStorage(folder: folder).beginTransaction(timeout: .seconds(10))
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
