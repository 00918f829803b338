import Foundation
import NIOCore
import NIOHTTP1

/// A proxy in front of a server. The proxy logs requests, and drops responses after the server has carried out the
/// requests; see `Fixtures/lossy_proxy.py`.
struct LossyProxy: Sendable {
    /// The port for clients.
    let port: Int
    private let control: String

    /// Starts a proxy, and ends it after the test.
    ///
    /// - Parameter upstream: The port of the server, which may start later.
    static func run<Result: Sendable>(
        upstream: Int, _ test: (LossyProxy) async throws -> Result
    ) async throws -> Result {
        let words = ["python3", "-B", BuiltProducts.fixture("lossy_proxy.py"), "--upstream", String(upstream)]
        return try await ServerProcess.run(Command(words: words)) { addresses in
            let parts = addresses.split(separator: " ").map(String.init)
            guard parts.count == 2, let port = URL(string: parts[0])?.port else { throw Unexpected(addresses) }
            return try await test(LossyProxy(port: port, control: parts[1]))
        }
    }

    @discardableResult private func send(_ path: String) async throws -> String {
        let response = try await HTTP.send(.GET, control + path, timeout: .minutes(4))
        guard response.status == 200 else { throw Unexpected(response.text) }
        return response.text
    }

    /// Closes the connection instead of sending the next response to a request that contains a string.
    func lose(_ text: String) async throws { try await send("/lose?text=" + text) }

    /// The method, path with query, and status of each request since the last call.
    func log() async throws -> [String] { try await send("/log").split(separator: "\n").map(String.init) }
}
