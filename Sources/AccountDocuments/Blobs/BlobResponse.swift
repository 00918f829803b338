import AccountKit
import AccountSupport
import HTTPTypes

/// The meaning of a download response. Only this type interprets these responses.
enum BlobResponse {
    case whole(BlobRecord)

    /// The response continues the stored part. It may end before the end of the blob.
    case continuation(ContentRange)

    /// The stored part is not usable, so request the complete blob.
    case anew

    case notModified

    /// The service no longer has the blob.
    case gone(AccountError)

    case failed(AccountError)

    init(
        _ head: HTTPResponse, _ body: Data = Data(), to request: HTTPRequest, of remote: any RemoteBlob,
        resuming resumption: PartialBlob.Resumption?
    ) {
        switch head.status.code {
        case 200:
            self = Self.whole(head, to: request)
        case 206:
            guard let resumption else {
                self = .failed(Self.unusable("a part of the blob instead of all of it"))
                return
            }
            self = Self.range(head, resumption).map { .continuation($0) } ?? .anew
        case 416 where resumption != nil:
            self = .anew
        case 304 where request.headerFields[.ifNoneMatch] != nil:
            self = .notModified
        case 200...399 where head.status.code != 304 && head.status.kind != .redirection:
            self = .failed(Self.unusable("no usable response (\(head.status.code))"))
        default:
            // Some services hide a blob behind a 404 from a token without the permission.
            let isMissing = [404, 410].contains(head.status.code) && !head.namesMissingPermission
            self =
                isMissing && remote.isFromService(head, body)
                ? .gone(AccountError(.requestRefused, "the service no longer has the blob (\(head.status.code))"))
                : .failed(AccountError(blob: head, body))
        }
    }

    private static func whole(_ head: HTTPResponse, to request: HTTPRequest) -> BlobResponse {
        let (type, tag) = (MediaType(head.headerFields[.contentType]), head.headerFields[.eTag])
        if let expected = request.headerFields[.ifMatch], expected != "*", expected != tag {
            return .failed(AccountError(.conflict, "the service now has another version of the blob"))
        }
        guard MediaType.isAccepted(type, by: request.headerFields[.accept], isTagged: tag != nil) else {
            return .failed(foreign(type))
        }
        let length = head.headerFields[.contentLength]
        let byteCount = length.flatMap { ContentRange.number($0) }
        let isChunked = head.headerFields[.transferEncoding]?.lowercased().contains("chunked") == true
        // Without a length, the end of the body cannot be distinguished from an interrupted connection.
        guard isChunked || byteCount != nil else { return .failed(unusable("a blob without its length")) }
        // A server that compresses a response itself does not know its length, or has no strong tag for it. Otherwise, the
        // blob itself is a compressed file, which some servers label in the same way.
        let isCompressed = head.headerFields[values: .contentEncoding].contains {
            !["", "identity"].contains($0.lowercased())
        }
        guard !isCompressed || (!isChunked && tag.map { EntityTag.isStrong($0) } == true) else {
            return .failed(unusable("a compressed blob, although the request did not allow that"))
        }
        return .whole(
            BlobRecord(
                entityTag: tag, contentType: head.headerFields[.contentType], byteCount: isChunked ? nil : byteCount))
    }

    /// - Returns: `nil` if the header fields show that the response is not the rest of the stored part, or that it is
    ///   of another version.
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

    static func foreign(_ type: MediaType?) -> AccountError {
        AccountError(
            .serviceUnavailable,
            "another server responded instead of the service (\(type?.text ?? "")): if this network has a sign-in page, open it"
        )
    }

    static func unusable(_ what: String) -> AccountError {
        AccountError(.requestRefused, "the service sent \(what)")
    }
}

extension HTTPResponse {
    fileprivate var namesMissingPermission: Bool {
        MissingPermission(status: status.code) { name in
            HTTPField.Name(name).flatMap { headerFields[values: $0].first }
        } != nil
    }
}

struct MediaType {
    let text: String

    init?(_ field: String?) {
        guard let field else { return nil }
        text = String(field.prefix { $0 != ";" && $0 != "," }).filter { $0 != " " && $0 != "\t" }.lowercased()
    }

    var isPage: Bool { ["text/html", "application/xhtml+xml"].contains(text) }

    /// - Parameter isTagged: Whether the response has an entity tag. The page of a captive portal has none.
    static func isAccepted(_ type: MediaType?, by accept: String?, isTagged: Bool) -> Bool {
        // A service may omit the type.
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
    init(blob head: HTTPResponse, _ body: Data) {
        // The app can repeat downloads and uploads, so it does not matter whether the service executed the request.
        let isMissing = [404, 410].contains(head.status.code)
        let outcome = ResponseOutcome(
            status: head.status.code, body: body,
            answer: head.status.kind == .clientError ? isMissing ? .missing : .refused : .foreign,
            at: Date(), missing: { .refused($0) },
            fields: { name in HTTPField.Name(name).map { head.headerFields[values: $0] } ?? [] })
        switch outcome {
        case .signIn(let words):
            self.init(.notSignedIn, "the service no longer accepts this session (\(words)): sign in again")
        case .refused(let words) where isMissing && !head.namesMissingPermission:
            self.init(.requestRefused, "a server responded that it does not have the blob (\(words))")
        case .conflict(let words):
            self.init(
                .conflict,
                "the service now has another version (\(words)): nothing was changed; check that version before you upload again"
            )
        default: self.init(outcome, status: head.status.code)
        }
    }

    init(blob error: any Error) {
        switch error {
        case let error as AccountError: self = error
        case is CancellationError:
            self.init(.cancelled, "cancelled: the received part is kept, and the next download continues from there")
        case let error as SystemCallError:
            self.init(.inaccessible, "the blob cannot be stored; nothing was changed", cause: error)
        default: self.init(.requestRefused, "the response is not from this service", cause: error)
        }
    }
}
