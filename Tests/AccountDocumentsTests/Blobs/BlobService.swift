import AccountKit
import AccountDocuments
import Foundation
import HTTPTypes

/// A test service with blobs under `/files/`, which can return faulty responses.
actor BlobService {
    struct File: Sendable {
        var bytes: [UInt8]
        var tag: String?
        var type: String? = "application/octet-stream"
    }

    /// A faulty response to a download.
    enum Fault: Sendable {
        /// Sends this many bytes and cuts the connection.
        case cut(after: Int)
        /// Sends this many bytes and ends the response as if it were complete.
        case endsEarly(after: Int)
        /// Sends the whole file in response to a request for a range.
        case ignoresRange
        /// Sends a range with a `Content-Range`, but with these header fields in place of the right ones. Omits a field
        /// without a value.
        case part(Range<Int>, [HTTPField.Name: String?])
        /// Sends the whole file with these header fields instead of the right ones.
        case whole([HTTPField.Name: String?])
        case status(HTTPResponse.Status, HTTPFields = [:], String = "")
    }

    private(set) var requests: [HTTPRequest] = []
    private var files: [String: File] = [:]
    private var faults: [Fault] = []
    private var isReachable = true
    private var beforePiece: (@Sendable (Int) async throws -> Void)?

    func put(_ bytes: [UInt8], _ id: String = "a", tag: String? = "\"v1\"", type: String? = "application/octet-stream")
    {
        files[id] = File(bytes: bytes, tag: tag, type: type)
    }

    func file(_ id: String = "a") -> File? { files[id] }
    func delete(_ id: String = "a") { files[id] = nil }
    func fail(_ faults: Fault...) { self.faults += faults }
    func goOffline() { isReachable = false }

    /// Runs before each piece is delivered, with the position of its first byte, or -1 when a file was uploaded.
    func beforePiece(_ body: (@Sendable (Int) async throws -> Void)?) { beforePiece = body }

    var ranges: [String?] { requests.map { $0.headerFields[.range] } }
    func forget() { requests = [] }

    static let offline = AuthorityError.noResponse(.init(.refused, host: "127.0.0.1", port: 1))
    static let cut = AuthorityError.noResponse(.init(.truncated, host: "127.0.0.1", port: 1))

    typealias Receive = @Sendable (HTTPResponse, Data) async throws -> Void

    func send(_ request: HTTPRequest, _ body: RemoteBlobBody?, _ receive: Receive) async throws -> (HTTPResponse, Data)
    {
        requests.append(request)
        guard isReachable else { throw AccountError(.serviceUnavailable, "offline", cause: Self.offline) }
        let fault = faults.isEmpty ? nil : faults.removeFirst()
        if case .status(let status, let fields, let text)? = fault {
            let head = HTTPResponse(status: status, headerFields: fields)
            guard status.kind == .successful else { return (head, Data(text.utf8)) }
            if !text.isEmpty { try await receive(head, Data(text.utf8)) }
            return (head, Data())
        }
        let id = String((request.path ?? "").dropFirst("/files/".count))
        if let body { return try await take(id, request, body) }
        guard let file = files[id] else {
            return (HTTPResponse(status: .notFound), Data(#"{"message":"Not Found"}"#.utf8))
        }
        if let known = request.headerFields[.ifNoneMatch], known == file.tag {
            return (HTTPResponse(status: .notModified), Data())
        }
        return try await deliver(file, request, fault, receive)
    }

    private func deliver(
        _ file: File, _ request: HTTPRequest, _ fault: Fault?, _ receive: Receive
    ) async throws -> (HTTPResponse, Data) {
        var range = 0..<file.bytes.count
        var replaced: [HTTPField.Name: String?] = [:]
        var isPart = false
        var limit = Int.max
        if let field = request.headerFields[.range], let start = Int(field.dropFirst("bytes=".count).dropLast()),
            request.headerFields[.ifRange] == file.tag
        {
            guard start < file.bytes.count else { return (HTTPResponse(status: .rangeNotSatisfiable), Data()) }
            range = start..<file.bytes.count
            isPart = true
        }
        var isCut = false
        switch fault {
        case .cut(let count)?: (limit, isCut) = (count, true)
        case .endsEarly(let count)?: limit = count
        case .ignoresRange?: (range, isPart) = (0..<file.bytes.count, false)
        case .part(let other, let fields)?: (range, isPart, replaced) = (other, true, fields)
        case .whole(let fields)?: (range, isPart, replaced) = (0..<file.bytes.count, false, fields)
        case .status, nil: break
        }
        var head = HTTPResponse(status: isPart ? .partialContent : .ok)
        head.headerFields[.eTag] = file.tag
        head.headerFields[.contentType] = file.type
        head.headerFields[.contentLength] = String(range.count)
        if isPart {
            head.headerFields[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(file.bytes.count)"
        }
        for (name, value) in replaced { head.headerFields[name] = value }
        var position = range.lowerBound
        let end = min(range.upperBound, range.lowerBound + min(limit, range.count))
        while position < end {
            try await beforePiece?(position)
            // The size of the pieces does not align with chunks.
            let next = min(position + 9973, end)
            try await receive(head, Data(file.bytes[position..<next]))
            position = next
        }
        if isCut { throw AccountError(.serviceUnavailable, "cut", cause: Self.cut) }
        return (head, Data())
    }

    private func take(_ id: String, _ request: HTTPRequest, _ body: RemoteBlobBody) async throws -> (HTTPResponse, Data)
    {
        var bytes: [UInt8] = []
        for try await piece in try await body.pieces() { bytes += piece }
        try await beforePiece?(-1)
        let present = files[id]
        if let tag = request.headerFields[.ifMatch], tag != present?.tag {
            return (HTTPResponse(status: .preconditionFailed), Data())
        }
        if request.headerFields[.ifNoneMatch] == "*", present != nil {
            return (HTTPResponse(status: .preconditionFailed), Data())
        }
        guard bytes.count == body.byteCount else { return (HTTPResponse(status: .badRequest), Data()) }
        let tag = "\"sent-\(requests.count)\""
        files[id] = File(bytes: bytes, tag: tag)
        return (HTTPResponse(status: .created, headerFields: [.eTag: tag]), Data())
    }
}

/// The requests for blobs.
struct Files: RemoteBlob {
    var accept: String?
    var expected: String?

    func request(downloading id: String) -> HTTPRequest {
        var request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/files/" + id)
        request.headerFields[.accept] = accept
        request.headerFields[.ifMatch] = expected
        return request
    }

    func request(uploading id: String) -> HTTPRequest {
        HTTPRequest(method: .put, scheme: nil, authority: nil, path: "/files/" + id)
    }
}

typealias RemoteBlobBody = (
    byteCount: Int, pieces: @Sendable () async throws -> AsyncThrowingStream<Data, any Error>
)
