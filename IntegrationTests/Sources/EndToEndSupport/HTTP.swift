import AsyncHTTPClient
import NIOCore
import NIOHTTP1

/// HTTP requests of the tests themselves.
enum HTTP {
    struct Response: Sendable {
        let status: Int
        let text: String
    }

    static func send(
        _ method: HTTPMethod, _ url: String, bearer: String? = nil, body: [UInt8]? = nil, contentType: String? = nil,
        timeout: TimeAmount = .minutes(2)
    ) async throws -> Response {
        var request = HTTPClientRequest(url: url)
        request.method = method
        // Do not reuse a connection that the server may be closing.
        request.headers.add(name: "Connection", value: "close")
        if let bearer { request.headers.add(name: "Authorization", value: "Bearer \(bearer)") }
        if let contentType { request.headers.add(name: "Content-Type", value: contentType) }
        if let body { request.body = .bytes(ByteBuffer(bytes: body)) }
        let response = try await HTTPClient.shared.execute(request, timeout: timeout)
        let text = String(buffer: try await response.body.collect(upTo: 1 << 24))
        return Response(status: Int(response.status.code), text: text)
    }

    static func get(_ url: String, bearer: String? = nil) async throws -> Response {
        try await send(.GET, url, bearer: bearer)
    }

    static func postForm(_ url: String, _ form: String) async throws -> Response {
        try await send(.POST, url, body: Array(form.utf8), contentType: "application/x-www-form-urlencoded")
    }
}
