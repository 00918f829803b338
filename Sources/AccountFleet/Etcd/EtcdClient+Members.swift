import AccountKit
import AsyncHTTPClient
import NIOCore
import NIOHTTP1

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What a node said of itself, or why it did not.
struct EtcdMember: Sendable {
    struct State: Sendable {
        var version: String

        /// Of whom it knows that it leads; `nil` if there is nobody. It is an unsigned number, and left as its text.
        var leader: String?
        var id: String

        /// From when it was asked till it responded, on a connection that was there.
        var latency: Duration

        /// How far its clock is ahead of this machine's, to the second; `nil` if it does not say.
        var clockOffset: Duration?
    }

    var endpoint: EtcdLocation.Endpoint

    /// A failure is a problem in words.
    var state: Result<State, AccountError>
}

extension EtcdClient {
    /// Asks each node, all at the same time.
    ///
    /// - Parameter timeout: How long each of a node's responses may take, of which there are three at most.
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
            let client = try httpClient()
            let token = try await token(at: endpoint, by: client, timeout)
            // The first one makes the connection.
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
            throw AccountError(.storeUnreachable, failure?.text ?? "what responded is not etcd 3.4 or later")
        }
        // It is cut off to the second, so half of one is the best guess.
        let date = response.headers.first(name: "Date").flatMap { HTTPDate.date(from: $0) }
        return EtcdMember.State(
            version: version, leader: object["leader"]?.string.flatMap { $0 == "0" ? nil : $0 }, id: id,
            latency: latency,
            clockOffset: date.map { .seconds(($0.addingTimeInterval(0.5).timeIntervalSinceNow).rounded()) })
    }
}
