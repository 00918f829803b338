package import AccountKit
import AccountSupport
import AsyncHTTPClient
import HTTPTypes
import NIOCore

extension OAuthAuthority {
    /// Sends a request as ``AuthenticatedClient`` does, and returns the response before its body.
    package func forward(
        _ request: ForwardedRequest, with tokens: RequestTokens
    ) async throws -> ForwardedResponse {
        let url: ServiceURL
        do {
            url = try ServiceURL(request.url)
        } catch {
            throw AccountError(.invalidArgument, "the URL of the request \(error.text)")
        }
        let origin = url.origin.description
        guard let method = HTTPRequest.Method(request.method), let base = URL(string: origin) else {
            throw AccountError(.invalidArgument, "the request is malformed")
        }
        var message = HTTPRequest(method: method, scheme: url.scheme, authority: url.authority, path: url.target)
        for (name, value) in request.fields {
            guard let name = HTTPField.Name(name) else { continue }
            message.headerFields[name] = value
        }
        let client = try AuthenticatedClient(origin: origin, tokens: tokens, authority: self)
        var secrets: [Secret] = []
        let (head, body) = try await client.authorize(message, at: base, canBeRepeated: true) { message in
            // After the scheme (RFC 9110, section 11.4).
            let sent = message.headerFields[.authorization]?.split(separator: " ").last
            secrets += sent.map { [Secret(String($0))] } ?? []
            return try await HTTPTransport.forwarding.open(message, body: request.body, to: url)
        } reading: { body in
            let bytes = try await body.collect()
            return (Data(bytes), ForwardedBody(collected: bytes))
        }
        return ForwardedResponse(
            status: head.status.code, fields: head.headerFields.map { ($0.name.rawName, $0.value) }, body: body,
            hiding: secrets)
    }
}

/// The body of a response, from the connection or already read.
struct ForwardedBody: AsyncSequence, Sendable {
    typealias Element = [UInt8]

    private let source: HTTPClientResponse.Body?
    private let collected: [UInt8]

    init(_ source: HTTPClientResponse.Body) {
        self.source = source
        collected = []
    }

    init(collected: [UInt8]) {
        source = nil
        self.collected = collected
    }

    /// Reads the body of an error response, of which only the beginning matters. If the connection breaks, the result is the
    /// part that arrived, because the status is known.
    func collect() async throws -> [UInt8] {
        var bytes: [UInt8] = []
        do {
            for try await piece in self {
                bytes += piece
                if bytes.count > ServiceResponse.bodyLimit { break }
            }
        } catch {
            try Task.checkCancellation()
        }
        return bytes
    }

    func makeAsyncIterator() -> Iterator { Iterator(source: source?.makeAsyncIterator(), collected: collected) }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate var source: HTTPClientResponse.Body.AsyncIterator?
        fileprivate var collected: [UInt8]

        mutating func next() async throws -> [UInt8]? {
            if source != nil { return try await source?.next().map { Array($0.readableBytesView) } }
            guard !collected.isEmpty else { return nil }
            defer { collected = [] }
            return collected
        }
    }
}
