#if Offline
import AccountKit
import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What the head of a response to a download means: the one place where that is judged.
enum BlobResponse {
    /// All of the blob follows, from its first byte.
    case whole(BlobRecord)

    /// These bytes continue the stored part. They may end before the end of the blob.
    case continuation(ContentRange)

    /// Nothing can be done with what was kept: ask for all of it.
    case anew

    /// The stored blob is current.
    case notModified

    /// The service has it no more.
    case gone(AccountError)

    case failed(AccountError)

    /// - Parameters:
    ///   - request: The request with all its fields.
    ///   - resumption: The part that the request continues, if it does.
    ///   - body: The body of an error response.
    init(
        _ head: HTTPResponse, _ body: Data = Data(), to request: HTTPRequest,
        resuming resumption: PartialBlob.Resumption?
    ) {
        switch head.status.code {
        case 200:
            self = Self.whole(head, to: request)
        case 206:
            guard let resumption else {
                self = .failed(Self.unusable("a part of the blob, though all of it was asked for"))
                return
            }
            self = Self.range(head, resumption).map { .continuation($0) } ?? .anew
        case 416 where resumption != nil:
            self = .anew
        case 304 where request.headerFields[.ifNoneMatch] != nil:
            self = .notModified
        case 200...399 where head.status.code != 304 && head.status.kind != .redirection:
            self = .failed(Self.unusable("nothing that can be used (\(head.status.code))"))
        default:
            let error = AccountError(blob: head, body)
            self = [404, 410].contains(head.status.code) ? .gone(error) : .failed(error)
        }
    }

    private static func whole(_ head: HTTPResponse, to request: HTTPRequest) -> BlobResponse {
        let (type, tag) = (MediaType(head.headerFields[.contentType]), head.headerFields[.eTag])
        if let expected = request.headerFields[.ifMatch], expected != "*", expected != tag {
            return .failed(AccountError(.conflict, "the service has another version of the blob by now"))
        }
        guard MediaType.isAccepted(type, by: request.headerFields[.accept], isTagged: tag != nil) else {
            return .failed(
                AccountError(
                    .serviceUnavailable,
                    "another server answered instead of the service (\(type?.text ?? "")): if this network has a sign-in page, open it"
                ))
        }
        let length = head.headerFields[.contentLength]
        let byteCount = length.flatMap { ContentRange.number($0) }
        let isChunked = head.headerFields[.transferEncoding]?.lowercased().contains("chunked") == true
        // Without a length, the end of the body cannot be distinguished from an interrupted connection.
        guard isChunked || byteCount != nil else { return .failed(unusable("a blob without saying how long it is")) }
        return .whole(
            BlobRecord(
                entityTag: tag, contentType: head.headerFields[.contentType], byteCount: isChunked ? nil : byteCount))
    }

    /// - Returns: `nil` if it is not the rest of what there is, of the same version, as far as the response itself says.
    private static func range(_ head: HTTPResponse, _ resumption: PartialBlob.Resumption) -> ContentRange? {
        guard head.headerFields[.eTag] == resumption.entityTag,
            let range = ContentRange(head.headerFields[.contentRange]), range.bytes.lowerBound == resumption.offset
        else { return nil }
        if let known = resumption.total, range.total.map({ $0 != known }) ?? (range.bytes.upperBound > known) {
            return nil
        }
        if let length = head.headerFields[.contentLength], ContentRange.number(length) != range.bytes.count {
            return nil
        }
        return range
    }

    static func unusable(_ what: String) -> AccountError {
        AccountError(.requestFailed, "the service sent \(what)")
    }
}

/// The two words of a media type, in lower case.
private struct MediaType {
    let text: String

    init?(_ field: String?) {
        guard let field else { return nil }
        text = String(field.prefix { $0 != ";" && $0 != "," }).filter { $0 != " " && $0 != "\t" }.lowercased()
    }

    var isPage: Bool { ["text/html", "application/xhtml+xml"].contains(text) }

    /// - Parameter isTagged: Whether the response has an entity tag, which the page of a captive portal has not.
    static func isAccepted(_ type: MediaType?, by accept: String?, isTagged: Bool) -> Bool {
        // A service need not say what it is.
        guard let type else { return true }
        let ranges = (accept ?? "*/*").split(separator: ",").compactMap { MediaType(String($0)) }
        if ranges.contains(where: { $0.text == type.text }) { return true }
        if type.isPage, !isTagged { return false }
        return ranges.contains { range in
            range.text == "*/*" || range.text.hasSuffix("/*") && type.text.hasPrefix(range.text.dropLast())
        }
    }
}

extension AccountError {
    /// A status that is no success, of a download or an upload.
    init(blob head: HTTPResponse, _ body: Data) {
        // Both can be repeated, so what may have been carried out is no question.
        switch RemoteOutcome(of: .update, head, body, at: Date()) {
        case .signIn(let words):
            self.init(.notSignedIn, "the service does not accept this sign-in any more (\(words)): sign in again")
        case .conflict where [404, 410].contains(head.status.code):
            self.init(.requestFailed, "the service does not have it any more (\(head.status.code))")
        case .conflict(let words):
            self.init(
                .conflict,
                "the service has another version by now (\(words)): nothing was changed; look at that one before you upload again"
            )
        default: self.init(status: head, body)
        }
    }

    /// Wraps an error of a transport or of the disk.
    init(blob error: any Error) {
        switch error {
        case let error as AccountError: self = error
        case is CancellationError:
            self.init(.cancelled, "cancelled: what came is kept, and the next download goes on from there")
        case let error as SystemCallError:
            self.init(.inaccessible, "the blob cannot be stored; nothing was changed", cause: error)
        default: self.init(.requestFailed, "the response is not one of this service", cause: error)
        }
    }
}
#endif
