public import AccountKit
import AccountSupport
public import Logging

extension AppContainer {
    /// Returns the sessions of the app that have data in an etcd cluster: the default session first, then the others by
    /// name.
    ///
    /// - Parameters:
    ///   - location: The cluster and the prefix.
    ///   - credentials: The credentials for the cluster.
    ///   - logger: The logger, or `nil` for none.
    /// - Throws: `AccountError.Code.storeUnreachable` without a quorum, or another `AccountError` if the cluster cannot be
    ///   read.
    public func sessions(
        at location: EtcdLocation, credentials: EtcdCredentials = EtcdCredentials(), logger: Logger? = nil
    ) async throws -> [SessionName] {
        let client = try EtcdClient(location: location, credentials: credentials, logger: logger)
        let app = "\(location.prefix)/\(identifier)/"
        let response = try await client.mapping { try await client.send(.keys(below: app), .reading) }
        let keys = (response.object["kvs"]?.elements ?? []).compactMap { $0.member("key")?.string?.base64Decoded }
        let entries = [ArchiveEntry.account, .signOut].map(\.rawValue)
        let names = keys.compactMap { key -> SessionName? in
            let parts = key.dropFirst(app.count).split(separator: "/")
            guard parts.count == 2, entries.contains(String(parts[1])) else { return nil }
            // Other names are not sessions.
            return try? SessionName(String(parts[0]))
        }
        let others = Set(names).subtracting([.default]).sorted { $0.rawValue < $1.rawValue }
        return (names.contains(.default) ? [.default] : []) + others
    }
}
