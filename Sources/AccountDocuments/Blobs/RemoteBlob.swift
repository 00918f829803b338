public import HTTPTypes

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// An adapter for the blobs of a service, such as images and attachments. An app writes one for each service.
///
/// An adapter only creates requests. This module adds ranges and validators, sends requests, stores blobs and
/// interprets statuses.
///
/// The response to a download must match its request: a response with a type that `Accept` does not name, or with an
/// `ETag` that differs from `If-Match`, is not the blob. Set both, so that no captive portal's page is stored as a
/// file.
public protocol RemoteBlob: Sendable {
    /// Returns the request that gets a blob, with the method GET.
    func request(downloading id: String) -> HTTPRequest

    /// Returns the request that creates or replaces a blob, usually with the method PUT. Its body is the file.
    func request(uploading id: String) -> HTTPRequest
}

/// A body of any size that is sent in pieces: its size, and a function that starts to read it, possibly more than once.
public typealias RemoteBlobBody = (
    byteCount: Int, pieces: @Sendable () async throws -> AsyncThrowingStream<Data, any Error>
)

/// Sends a request with the authorization of the account and with bodies of any size, for example with
/// `AuthenticatedClient.stream`.
///
/// The body of a response with a status from 200 to 299 is passed on in pieces, each with the head. If the receiver
/// throws, the request ends. Any other body is returned as a whole.
public typealias RemoteBlobTransport =
    @Sendable (
        _ request: HTTPRequest, _ body: RemoteBlobBody?,
        _ receive: @escaping @Sendable (_ head: HTTPResponse, _ piece: Data) async throws -> Void
    ) async throws -> (head: HTTPResponse, body: Data)

/// The condition of an upload.
public enum BlobCondition: Sendable, Hashable {
    /// The upload replaces any version at the service.
    case always

    /// The upload happens only if the version at the service has this entity tag (`If-Match`).
    case unchanged(entityTag: String)

    /// The upload happens only if the service has no blob with this ID (`If-None-Match: *`).
    case absent
}

/// The progress of a transfer.
public struct BlobProgress: Sendable, Hashable {
    /// The transferred bytes, including those of earlier attempts that need not be transferred again.
    public var completed: Int

    /// The total size in bytes; `nil` if the service did not send it.
    public var total: Int?

    /// Creates a progress report.
    public init(completed: Int, total: Int?) {
        self.completed = completed
        self.total = total
    }
}
