#if Offline
public import HTTPTypes

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// How a service is asked for blobs, such as images and attachments. An app writes one for each service.
///
/// It only says what the requests are. Ranges, validators, sending, storing and judging statuses is this module's work.
///
/// What the download's request says of the response is held against it: a response of a type that `Accept` does not name, or
/// with another `ETag` than an `If-Match` names, is not the blob. Say what you know: it is how the page of a captive portal is
/// told from a file.
public protocol RemoteBlob: Sendable {
    /// The request that gets a blob, with the method GET.
    func request(downloading id: String) -> HTTPRequest

    /// The request that replaces a blob or makes it, usually with the method PUT. Its body is the file.
    func request(uploading id: String) -> HTTPRequest
}

/// A body of any size that is sent piece by piece: how many bytes, and how to begin with it, which may be done more than once.
public typealias RemoteBlobBody = (
    byteCount: Int, pieces: @Sendable () async throws -> AsyncThrowingStream<Data, any Error>
)

/// Sends a request with the account's authorization, and with bodies of any size, as `AuthenticatedClient.stream` does.
///
/// Of a response with a status from 200 to 299 the body is handed on piece by piece, each with the head; an error that is thrown
/// there ends the request. Any other body is returned as a whole.
public typealias RemoteBlobTransport =
    @Sendable (
        _ request: HTTPRequest, _ body: RemoteBlobBody?,
        _ receive: @escaping @Sendable (_ head: HTTPResponse, _ piece: Data) async throws -> Void
    ) async throws -> (head: HTTPResponse, body: Data)

/// When an upload takes place.
public enum BlobCondition: Sendable, Hashable {
    /// Whatever there is at the service, it is replaced.
    case always

    /// If the service still has what has this entity tag (`If-Match`).
    case unchanged(entityTag: String)

    /// If the service has nothing under this id (`If-None-Match: *`).
    case absent
}

/// How much of a blob has been sent or received.
public struct BlobProgress: Sendable, Hashable {
    /// So many bytes, also those of earlier attempts that need not be transferred again.
    public var completed: Int

    /// So many in all; `nil` if the service did not say.
    public var total: Int?

    /// Creates a report.
    public init(completed: Int, total: Int?) {
        self.completed = completed
        self.total = total
    }
}
#endif
