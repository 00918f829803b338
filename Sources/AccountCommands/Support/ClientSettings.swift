import AccountKit

/// Where the credentials of a client without a user come from on this machine; see ``OwnClient``.
struct ClientSettings: Codable, Equatable {
    private var keyPath: String?
    private var keyID: String?
    private var audience: String?
    private(set) var workload: [String]?

    var key: ClientKeyFile? { keyPath.map { ClientKeyFile(path: $0, id: keyID, audience: audience) } }

    init(_ machine: MachineGrant) {
        keyPath = machine.key?.path
        keyID = machine.key?.id
        audience = machine.key?.audience
        workload = machine.workload
    }
}
