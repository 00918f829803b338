@testable import EndToEndSupport
import Foundation
import NIOHTTP1

/// Kinto on loopback: a service for records that is not part of this project; see `Fixtures/kinto/server.py`.
struct KintoServer: Sendable {
    /// The address of the server.
    let origin: String
    /// The access token of the user whose bucket the tests inspect.
    private let token: String

    /// Serves during the test.
    ///
    /// - Parameters:
    ///   - server: The service that identifies the user of a token.
    ///   - container: Provides the environment variables for preparing Kinto's Python environment, which takes a while
    ///     the first time.
    static func run<Result: Sendable>(
        trusting server: ExampleServer, in container: Container, _ test: (KintoServer) async throws -> Result
    ) async throws -> Result {
        let python = try await PythonEnvironment.prepare("kinto", importing: "kinto", "waitress", in: container)
        let words = [python, "-B", BuiltProducts.fixture("kinto/server.py"), "--issuer", server.issuer]
        let token = try await server.issueToken()
        return try await ServerProcess.run(Command(words: words)) {
            try await test(KintoServer(origin: $0, token: token))
        }
    }

    // MARK: Direct access

    /// A record as stored by the server.
    struct Record: Codable, Equatable, Sendable {
        var id: String?
        var title: String?
        var url: String?
        var read: Bool?
    }

    private struct Content<Value: Codable>: Codable { var data: Value }

    private var records: String { origin + "/v1/buckets/default/collections/articles/records" }

    /// alice's records, the latest change first.
    func articles() async throws -> [Record] {
        let text = try await send(.GET, "?_sort=-last_modified")
        return try JSONDecoder().decode(Content<[Record]>.self, from: Data(text.utf8)).data
    }

    /// Adds `count` records, titled "Page 1", "Page 2" and so on, as another program would.
    ///
    /// - Returns: The records' ids.
    @discardableResult func seed(_ count: Int) async throws -> [String] {
        var ids: [String] = []
        for number in 1...count {
            let record = Record(title: "Page \(number)", url: "https://example.com/\(number)")
            let text = try await send(.POST, "", record)
            ids.append(try JSONDecoder().decode(Content<Record>.self, from: Data(text.utf8)).data.id ?? "")
        }
        return ids
    }

    /// Changes a record, as another program would.
    func edit(_ id: String, title: String) async throws { _ = try await send(.PATCH, "/" + id, Record(title: title)) }

    func delete(_ id: String) async throws { _ = try await send(.DELETE, "/" + id) }

    private func send(_ method: HTTPMethod, _ path: String, _ record: Record? = nil) async throws -> String {
        let body = try record.map { [UInt8](try JSONEncoder().encode(Content(data: $0))) }
        let response = try await HTTP.send(
            method, records + path, bearer: token, body: body, contentType: "application/json")
        guard (200...299).contains(response.status) else {
            throw Unexpected("\(method) \(path): \(response.status) \(response.text)")
        }
        return response.text
    }
}
