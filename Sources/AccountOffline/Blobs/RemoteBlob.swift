#if Offline
public import HTTPTypes

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// An adapter for the blobs of a service, such as images and attachments. An app writes one for each service.
///
/// An adapter only creates requests. This module adds ranges and validators, sends requests, stores blobs and interprets statuses.
///
/// The response to a download must match its request: a response with a type that `Accept` does not name, or with another `ETag` than
/// `If-Match` names, is not the blob. Set these fields, so that the page of a captive portal is not stored as a file.
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

/// Sends a request with the authorization of the account and with bodies of any size, for example with `AuthenticatedClient.stream`.
///
/// The body of a response with a status from 200 to 299 is passed on in pieces, each with the head. If the receiver throws, the request ends.
/// Any other body is returned as a whole.
public typealias RemoteBlobTransport =
    @Sendable (
        _ request: HTTPRequest, _ body: RemoteBlobBody?,
        _ receive: @escaping @Sendable (_ head: HTTPResponse, _ piece: Data) async throws -> Void
    ) async throws -> (head: HTTPResponse, body: Data)

/// When an upload takes place.
public enum BlobCondition: Sendable, Hashable {
    /// The upload replaces any version at the service.
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
