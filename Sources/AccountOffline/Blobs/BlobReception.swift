#if Offline
import AccountKit
import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Takes in the response to one request of a download.
actor BlobReception {
    /// The next step.
    enum Outcome {
        /// All of it is there.
        case complete
        /// The service announced and sent a part of the requested bytes.
        case incomplete
        case anew
        case notModified
        case gone(AccountError)
    }

    /// Ends the request, since its response is not wanted.
    private struct Unwanted: Error {}

    /// After so many bytes it is checked again whose they are.
    private static let checkInterval = 8 << 20

    private let partial: PartialBlob
    private let request: HTTPRequest
    private let resumption: PartialBlob.Resumption?
    private let limit: Int
    private let check: @Sendable () async throws -> Void
    private let report: @Sendable (BlobProgress) -> Void

    private var response: BlobResponse?
    private var total: Int?
    /// The end of the bytes of this response; `nil` if it is unknown.
    private var end: Int?
    private var uncheckedByteCount = 0

    /// Why the request was ended here, rather than by the network or the service.
    private var failure: (any Error)?
    var hasFailed: Bool { failure != nil && !(failure is Unwanted) }

    /// - Parameters:
    ///   - limit: The maximum size of a blob, in bytes.
    ///   - check: Throws if the user has signed out.
    init(
        _ partial: PartialBlob, _ request: HTTPRequest, resuming resumption: PartialBlob.Resumption?, limit: Int,
        checking check: @escaping @Sendable () async throws -> Void, report: @escaping @Sendable (BlobProgress) -> Void
    ) {
        self.partial = partial
        self.request = request
        self.resumption = resumption
        self.limit = limit
        self.check = check
        self.report = report
    }

    /// Whether bytes of the blob were to come.
    var hasBegun: Bool {
        switch response {
        case .whole, .continuation: true
        default: false
        }
    }

    /// The progress, for messages.
    var standing: String { total.map { "\(partial.byteCount) of \($0) bytes" } ?? "\(partial.byteCount) bytes" }

    func receive(_ head: HTTPResponse, _ piece: Data) async throws {
        do {
            if response == nil { try await begin(head) }
            switch response {
            case .whole, .continuation: break
            default: throw Unwanted()
            }
            let count = partial.byteCount + piece.count
            guard end.map({ count <= $0 }) ?? true else { throw BlobResponse.unusable("more bytes than it said") }
            try checkSize(count)
            uncheckedByteCount += piece.count
            if uncheckedByteCount >= Self.checkInterval {
                uncheckedByteCount = 0
                try await check()
            }
            try await BlockingWork.run { [partial] in try partial.append(piece) }
            report(BlobProgress(completed: count, total: total))
        } catch {
            if failure == nil { failure = error }
            throw error
        }
    }

    /// Says that the response is at its end, and what that means.
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

    /// Returns what an error of the transport means, unless the response was already complete.
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
        AccountError(.serviceUnavailable, "the response was cut")
    }

    private func begin(_ head: HTTPResponse, _ body: Data = Data()) async throws {
        let response = BlobResponse(head, body, to: request, resuming: resumption)
        self.response = response
        switch response {
        case .whole(let record):
            try checkSize(record.byteCount ?? 0)
            // Nothing is written after a sign-out.
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
            throw AccountError(.tooLarge, "the blob has more than the \(limit) bytes that are kept here")
        }
    }
}
#endif
