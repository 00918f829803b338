import AccountKit
import AccountSupport
import AsyncHTTPClient
import NIOCore
import NIOHTTP1

struct EtcdMember: Sendable {
    struct State: Sendable {
        var version: String

        /// The leader's ID as text, because the ID is an unsigned number. `nil` if the node has no leader.
        var leader: String?
        var id: String

        /// The time from the request to the response, on an open connection.
        var latency: Duration

        /// The time by which the node's clock is ahead of this machine's clock, in whole seconds. `nil` if the response
        /// has no date.
        var clockOffset: Duration?
    }

    var endpoint: EtcdLocation.Endpoint

    var state: Result<State, AccountError>
}

extension EtcdClient {
    /// Requests the state of all nodes concurrently. This method waits for up to three responses from each node, with a
    /// limit of `timeout` for each response.
    func members(timeout: Duration) async -> [EtcdMember] {
        await withTaskGroup(of: (Int, EtcdMember).self) { group in
            for (index, endpoint) in location.endpoints.enumerated() {
                group.addTask {
                    (index, EtcdMember(endpoint: endpoint, state: await self.state(of: endpoint, timeout)))
                }
            }
            var members: [(Int, EtcdMember)] = []
            for await member in group { members.append(member) }
            return members.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private func state(
        of endpoint: EtcdLocation.Endpoint, _ timeout: Duration
    ) async -> Result<EtcdMember.State, AccountError> {
        do {
            let client = try httpClient(for: endpoint)
            let token = try await token(at: endpoint, by: client, timeout)
            // Open the connection with a first request, which the latency does not include.
            _ = try await askState(of: endpoint, token, client, timeout)
            return .success(try await askState(of: endpoint, token, client, timeout))
        } catch let failure as EtcdFailure {
            return .failure(AccountError(failure, store: endpoint))
        } catch let error as AccountError {
            return .failure(error)
        } catch {
            return .failure(AccountError(.storeUnreachable, Self.text(of: error)))
        }
    }

    private func askState(
        of endpoint: EtcdLocation.Endpoint, _ token: String?, _ client: HTTPClient, _ timeout: Duration
    ) async throws -> EtcdMember.State {
        let start = ContinuousClock.now
        let response = try await response(
            to: .status, token: token, at: endpoint, by: client, timeout, needsLeader: false)
        let latency = start.duration(to: .now)
        let object = JSONObject.read(response)
        guard response.status == .ok, let object, let version = object["version"]?.string,
            let id = object["header"]?.member("member_id")?.string
        else {
            let failure = object.map { EtcdFailure($0) }
            throw AccountError(.storeUnreachable, failure?.text ?? "the server is not etcd 3.4 or later")
        }
        // Add half a second for the best estimate, because the date is truncated to whole seconds.
        let date = response.headers.first(name: "Date").flatMap { HTTPDate.date(from: $0) }
        return EtcdMember.State(
            version: version, leader: object["leader"]?.string.flatMap { $0 == "0" ? nil : $0 }, id: id,
            latency: latency,
            clockOffset: date.map { .seconds(($0.addingTimeInterval(0.5).timeIntervalSinceNow).rounded()) })
    }
}
