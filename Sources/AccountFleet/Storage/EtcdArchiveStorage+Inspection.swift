package import AccountKit
import AccountSupport

extension EtcdArchiveStorage {
    /// Reports the nodes, the quorum, the process that holds the refresh lease, and the roles of the etcd user.
    package func inspect() async -> [StorageObservation] {
        async let leaseHolder = client.value { try await $0.send(.range(key(".refresh")), .reading).object }
        async let memberList = client.value { try await $0.send(.members, .reading).object }
        async let alarms = client.value { try await $0.send(.alarms, .reading).object }
        async let roles = self.roles()
        let members = await client.members(timeout: EtcdClient.Timeout.reading.limit)

        var observations = members.map { StorageObservation($0) } + StorageObservation.versions(of: members)
        // Members that did not respond already have an observation.
        let known = members.compactMap { try? $0.state.get() }
        let count = await memberList?["members"]?.elements.count
        let lease = await leaseHolder
        observations.append(
            lease == nil
                ? StorageObservation(
                    "Quorum", "none: the store accepts no changes now",
                    advice: ": start the nodes that are not running, or check the network between them")
                : StorageObservation("Quorum", "yes" + (count.map { ", of \($0) member\($0 == 1 ? "" : "s")" } ?? "")))
        if let count, count > members.count {
            observations.append(
                StorageObservation(
                    "Members", "the address names \(members.count) of \(count)",
                    advice: ": add all members to the address of the store, so that commands reach it if a member fails"
                ))
        }
        if Set(known.compactMap(\.leader)).count > 1 {
            observations.append(
                StorageObservation(
                    "Members", "not all members report the same leader",
                    advice: ": name only nodes of one cluster in the address of the store"))
        }
        for alarm in await alarms?["alarms"]?.elements ?? [] {
            let name = alarm.member("alarm")?.string ?? "unknown"
            observations.append(
                StorageObservation(
                    "Alarm", name,
                    advice: name == "NOSPACE"
                        ? ": compact and defragment the store, then `etcdctl alarm disarm`" : ": read the log of etcd"))
        }
        if let holder = EtcdKeyValue(lease?["kvs"]?.elements.first) {
            observations.append(StorageObservation("Refreshing", holder.holderName ?? "another process"))
        }
        if !location.usesTLS {
            observations.append(
                StorageObservation(
                    "TLS", "none",
                    advice: location.isLoopback
                        ? nil : ": write etcds://, because an attacker on the network can sign you out"))
        } else {
            observations.append(
                StorageObservation(
                    "TLS",
                    client.credentials.files.certificate == nil ? "yes" : "yes, with a certificate of this machine"))
        }
        if let roles = await roles { observations.append(roles) }
        return observations
    }

    private func roles() async -> StorageObservation? {
        guard let user = client.credentials.user else { return nil }
        let response = await client.value { try await $0.send(.roles(of: user), .reading).object }
        let roles = (response?["roles"]?.elements ?? []).compactMap(\.string)
        guard !roles.isEmpty else { return nil }
        return StorageObservation(
            "User", "\(user.name), with the role\(roles.count == 1 ? "" : "s") \(roles.joined(separator: ", "))",
            advice: roles.contains("root")
                ? ": grant the user a role that can read and write only below \(location.prefix)/" : nil)
    }
}

extension EtcdClient {
    fileprivate func value<Value>(_ body: (EtcdClient) async throws -> Value) async -> Value? {
        // Another observation reports a member that does not respond.
        try? await body(self)
    }
}

extension StorageObservation {
    static func versions(of members: [EtcdMember]) -> [StorageObservation] {
        var endpoints: [EtcdVersion: [String]] = [:]
        for member in members {
            // Another observation reports a member that does not respond.
            guard let version = (try? member.state.get()).flatMap({ EtcdVersion($0.version) }) else { continue }
            endpoints[version, default: []].append(member.endpoint)
        }
        return endpoints.compactMap { version, endpoints in
            guard let update = version.update else { return nil }
            return StorageObservation(
                "Version",
                "etcd \(version) at \(endpoints.joined(separator: ", ")): \(version.faults.joined(separator: "; "))",
                advice: ": update etcd to \(update) or later; the article \"Many machines\" explains these faults")
        }.sorted { $0.text < $1.text }
    }

    fileprivate init(_ member: EtcdMember) {
        switch member.state {
        case .failure(let error):
            self.init(
                "Member", "\(member.endpoint): \(error.message)", advice: ": check that the node runs and is reachable")
        case .success(let state):
            let offset = state.clockOffset?.components.seconds ?? 0
            // A smaller difference affects neither tokens nor certificates.
            let isOff = abs(offset) > 60
            let leads = state.id == state.leader ? ", leads" : ""
            var text = "\(member.endpoint)\(leads): etcd \(state.version), \(state.latency.milliseconds)"
            if state.leader == nil { text += ", has no leader" }
            if abs(offset) > 2 {
                text += ", its clock is \(Duration.seconds(abs(offset)).text) \(offset > 0 ? "ahead" : "behind")"
            }
            self.init(
                "Member", text,
                advice: isOff
                    ? ": correct the clock of the node or of this machine, because tokens seem to expire at the wrong time"
                    : nil)
        }
    }
}

extension Duration {
    /// The duration in milliseconds, with one decimal digit below 10 ms.
    fileprivate var milliseconds: String {
        let tenths = Int((seconds * 10_000).rounded())
        return tenths < 100 ? "\(tenths / 10).\(tenths % 10) ms" : "\((tenths + 5) / 10) ms"
    }
}
