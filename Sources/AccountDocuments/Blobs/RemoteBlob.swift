import AccountSupport
public import HTTPTypes

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// An adapter for the blobs of a service, such as images and attachments. An app implements one adapter for each
/// service.
///
/// An adapter only creates requests, and recognizes the responses of the service. This module adds ranges
/// and validators, sends requests, stores blobs and interprets statuses.
///
/// The response to a download must match the request. AccountKit rejects a response with a type that `Accept` does not
/// name, or with an `ETag` that differs from `If-Match`. Set both fields, so that AccountKit does not store the page of
/// a captive portal as a file.
public protocol RemoteBlob: Sendable {
    /// Returns the request that downloads a blob, with the method GET.
    func request(downloading id: String) -> HTTPRequest

    /// Returns the request that creates or replaces a blob, usually with the method PUT. The body of the request is the
    /// file.
    func request(uploading id: String) -> HTTPRequest

    /// Returns whether a response has the form of the service's responses.
    ///
    /// AccountKit asks this for a response to an upload with a status from 200 to 299, and for a response to a download
    /// with status 404 or 410. Other servers send such responses too: the page of a captive portal has status 200, and a
    /// proxy responds with its own 404. Only a response from the service confirms an upload, or removes a stored blob.
    ///
    /// By default, a response is from the service if its body is a JSON object, if its status is 201 or 204 and it has an
    /// `ETag` or no web page, or if it has another status from 200 to 299, an `ETag` and no web page. For other services,
    /// recognize the form of the body, or a header field that only the service sends.
    ///
    /// - Parameters:
    ///   - head: The status and header fields.
    ///   - body: The body, of which AccountKit passes at most 64 KiB.
    func isFromService(_ head: HTTPResponse, _ body: Data) -> Bool
}

extension RemoteBlob {
    /// Returns whether a response has the usual form.
    public func isFromService(_ head: HTTPResponse, _ body: Data) -> Bool {
        if JSONValue.object(from: body) != nil { return true }
        guard head.status.kind == .successful else { return false }
        // WebDAV servers describe a created file in a web page. Otherwise, a page may be that of a captive portal.
        let isPage = MediaType(head.headerFields[.contentType])?.isPage == true
        let isTagged = head.headerFields[.eTag] != nil
        return [201, 204].contains(head.status.code) ? isTagged || !isPage : isTagged && !isPage
    }
}

/// A function that sends a request with the authorization of the account and with bodies of any size, for example with
/// `AuthenticatedClient.stream`.
///
/// The body consists of its size in bytes, and a function that returns the pieces from the beginning. The transport may call
/// that function more than once.
///
/// If the status of the response is from 200 to 299, the function passes the body to `receive` in pieces, each with the
/// head. If `receive` throws an error, the request ends. For any other status, the function returns the whole body.
public typealias RemoteBlobTransport =
    @Sendable (
        _ request: HTTPRequest,
        _ body: (byteCount: Int, pieces: @Sendable () async throws -> AsyncThrowingStream<Data, any Error>)?,
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

/// Receives the number of transferred bytes and, if it is known, the total size in bytes.
typealias BlobProgress = @Sendable (_ completed: Int, _ total: Int?) -> Void
