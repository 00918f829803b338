import Foundation
import NIOCore
import NIOHTTP1

/// A proxy in front of a server. The proxy holds or drops responses after the server has carried out the requests; see
/// `Fixtures/late_proxy.py`.
struct LateProxy: Sendable {
    /// The port for clients.
    let port: Int
    private let control: String

    /// Starts a proxy, and ends it after the test.
    ///
    /// - Parameter upstream: The port of the server, which may start later.
    static func run<Result: Sendable>(
        upstream: Int, _ test: (LateProxy) async throws -> Result
    ) async throws -> Result {
        let words = ["python3", "-B", BuiltProducts.fixture("late_proxy.py"), "--upstream", String(upstream)]
        return try await ServerProcess.run(Command(words: words)) { addresses in
            let parts = addresses.split(separator: " ").map(String.init)
            guard parts.count == 2, let port = URL(string: parts[0])?.port else { throw Unexpected(addresses) }
            return try await test(LateProxy(port: port, control: parts[1]))
        }
    }

    @discardableResult private func send(_ path: String) async throws -> String {
        let response = try await HTTP.send(.GET, control + path, timeout: .minutes(4))
        guard response.status == 200 else { throw Unexpected(response.text) }
        return response.text
    }

    /// From now on, holds the responses to requests that contain a string, except for the first `count` requests.
    func hold(_ text: String, skipping count: Int = 0) async throws {
        try await send("/hold?text=\(text)&skip=\(count)")
    }

    /// Waits until `count` responses have been held.
    func waitUntilHeld(_ count: Int = 1) async throws { try await send("/wait?count=\(count)") }

    /// Closes the connection instead of sending the next response to a request that contains a string.
    func lose(_ text: String) async throws { try await send("/lose?text=" + text) }

    /// The method, path with query, and status of each request since the last call.
    func log() async throws -> [String] { try await send("/log").split(separator: "\n").map(String.init) }

    /// Releases all held responses. The proxy holds no further responses.
    func release() async throws { try await send("/release") }
}
