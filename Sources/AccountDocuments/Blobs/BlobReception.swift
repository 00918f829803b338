import AccountKit
import AccountSupport
import HTTPTypes

/// Receives the response to one request of a download.
actor BlobReception {
    enum Outcome {
        case complete
        /// The service announced and sent a part of the requested bytes.
        case incomplete
        case anew
        case notModified
        case gone(AccountError)
    }

    /// An error that ends a request whose response is not needed.
    private struct Unwanted: Error {}

    /// The number of bytes after which to check again that the user is still signed in.
    private static let checkInterval = 8 << 20

    private let partial: PartialBlob
    private let request: HTTPRequest
    private let remote: any RemoteBlob
    private let resumption: PartialBlob.Resumption?
    private let limit: Int
    private let check: @Sendable () async throws -> Void
    private let report: BlobProgress

    private var response: BlobResponse?
    private var total: Int?
    /// The end of the bytes of this response, or `nil` if it is unknown.
    private var end: Int?
    private var uncheckedByteCount = 0

    /// The error with which this type ended the request, or `nil` if the network or the service ended the request.
    private var failure: (any Error)?
    var hasFailed: Bool { failure != nil && !(failure is Unwanted) }

    /// - Parameter check: A function that throws an error if the user has signed out.
    init(
        _ partial: PartialBlob, _ request: HTTPRequest, of remote: any RemoteBlob,
        resuming resumption: PartialBlob.Resumption?, limit: Int,
        checking check: @escaping @Sendable () async throws -> Void, report: @escaping BlobProgress
    ) {
        self.partial = partial
        self.request = request
        self.remote = remote
        self.resumption = resumption
        self.limit = limit
        self.check = check
        self.report = report
    }

    var hasBegun: Bool {
        switch response {
        case .whole, .continuation: true
        default: false
        }
    }

    var standing: String { total.map { "\(partial.byteCount) of \($0) bytes" } ?? "\(partial.byteCount) bytes" }

    func receive(_ head: HTTPResponse, _ piece: Data) async throws {
        do {
            if response == nil { try await begin(head) }
            switch response {
            case .whole, .continuation: break
            default: throw Unwanted()
            }
            let count = partial.byteCount + piece.count
            guard end.map({ count <= $0 }) ?? true else { throw BlobResponse.unusable("more bytes than it announced") }
            try checkSize(count)
            uncheckedByteCount += piece.count
            if uncheckedByteCount >= Self.checkInterval {
                uncheckedByteCount = 0
                try await check()
            }
            try await BlockingWork.run { [partial] in try partial.append(piece) }
            report(count, total)
        } catch {
            if failure == nil { failure = error }
            throw error
        }
    }

    func finish(_ head: HTTPResponse, _ body: Data) async throws -> Outcome {
        if response == nil { try await begin(head, body) }
        switch response {
        case .whole, .continuation:
            guard partial.byteCount == end ?? partial.byteCount else { throw cut() }
            return total.map { $0 == partial.byteCount } ?? (end == nil) ? .complete : .incomplete
        case .anew: return .anew
        case .notModified: return .notModified
        case .gone(let error): return .gone(error)
        case .failed(let error): throw error
        case nil: preconditionFailure("it was judged")
        }
    }

    /// Returns the outcome that the response had before the transport failed. If the response had none, this method
    /// throws the error.
    func outcome(of error: any Error) throws -> Outcome {
        switch response {
        case .anew: return .anew
        case .failed(let error): throw error
        default: break
        }
        if let failure { throw failure }
        throw error
    }

    private func cut() -> AccountError {
        AccountError(.serviceUnavailable, "the response was interrupted")
    }

    private func begin(_ head: HTTPResponse, _ body: Data = Data()) async throws {
        let response = BlobResponse(head, body, to: request, of: remote, resuming: resumption)
        self.response = response
        switch response {
        case .whole(let record):
            try checkSize(record.byteCount ?? 0)
            // Don't write data after a sign-out.
            try await check()
            total = record.byteCount
            end = total
            try await BlockingWork.run { [partial] in try partial.begin(record) }
        case .continuation(let range):
            total = range.total ?? resumption?.total
            end = range.bytes.upperBound
            try checkSize(total ?? 0)
            try await check()
        case .anew, .notModified, .gone, .failed: break
        }
    }

    private func checkSize(_ count: Int) throws {
        guard count <= limit else {
            throw AccountError(.tooLarge, "the blob has more than \(limit) bytes, the limit here")
        }
    }
}
