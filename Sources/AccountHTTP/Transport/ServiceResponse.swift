import AccountKit
import HTTPTypes
import AccountCrypto
import AccountSupport

/// A response as plain values, so that the code that parses responses can be tested without a network.
struct ServiceResponse: Sendable {
    /// The default limit for a body, in bytes. The longest legitimate bodies are user info responses of a few
    /// kilobytes.
    static let bodyLimit = 1 << 20

    var head: HTTPResponse

    var body: WipedBytes

    /// Whether the body is complete. If the body is longer than the request allows, `body` is empty.
    var isBodyWhole = true

    /// The failure that ended the body early; `nil` if the body arrived completely. `body` is then the part that arrived.
    var interruption: AuthorityError?

    /// The time when the head arrived, by the local clock.
    var receivedAt: Date

    var status: Int { head.status.code }

    /// The date by the service's clock (RFC 9110, section 6.6.1).
    var date: Date? { head.headerFields[values: .date].first.flatMap { HTTPDate.date(from: $0) } }

    /// The time by which the service's clock is ahead of the local clock.
    var clockOffset: Duration? { date.map { .seconds($0.timeIntervalSince(receivedAt)) } }

    /// The media type in lower case, without parameters.
    var mediaType: String? {
        guard let value = head.headerFields[values: .contentType].first else { return nil }
        let type = value.prefix { $0 != ";" && $0 != "," }
        return type.filter { $0 != " " && $0 != "\t" }.lowercased()
    }

    var isCompressed: Bool {
        head.headerFields[values: .contentEncoding].contains { !["", "identity"].contains($0.lowercased()) }
    }

    /// Returns the response with its body decompressed, if a server or gateway compressed the body although the request did
    /// not allow that (RFC 9110, section 8.4). A gateway may compress the body again. A body that is only labelled as
    /// compressed, or that cannot be decompressed, stays unchanged.
    func decompressed(limit: Int = bodyLimit) -> ServiceResponse {
        let codings = head.headerFields[values: .contentEncoding].flatMap { $0.lowercased().split(separator: ",") }
        var isLabelledDeflate = codings.contains { String($0).trimmed == "deflate" }
        var result = self
        do throws(Inflater.Failure) {
            for _ in 0..<3 {
                if Inflater.isGzip(result.body) {
                    result.body = try Inflater.gunzipped(result.body, limit: limit)
                } else if Inflater.isZlib(result.body) && result.body.first == 0x78
                    || isLabelledDeflate && result.body.first != UInt8(ascii: "{")
                {
                    isLabelledDeflate = false
                    result.body = try Inflater.inflated(result.body, limit: limit)
                } else {
                    return result
                }
                result.head.headerFields[.contentEncoding] = nil
            }
        } catch {
            guard error == .tooLong else { return result }
            result.body = WipedBytes()
            result.isBodyWhole = false
            result.head.headerFields[.contentEncoding] = nil
        }
        return result
    }

    /// Whether the response is a web page. The body decides: some services label JSON as HTML.
    var isWebPage: Bool {
        guard beginsLikeMarkup else { return false }
        return mediaType.map { ["text/html", "application/xhtml+xml", "text/plain", ""].contains($0) } ?? true
    }

    var isMarkup: Bool {
        if let mediaType, mediaType == "text/html" || mediaType == "application/xhtml+xml" { return true }
        return beginsLikeMarkup
    }

    private var beginsLikeMarkup: Bool { firstCharacter == UInt8(ascii: "<") }

    /// Whether the body can only be a JSON object.
    var beginsLikeJSON: Bool { firstCharacter == UInt8(ascii: "{") }

    private var firstCharacter: UInt8? {
        let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let text = body.starts(with: byteOrderMark) ? body.dropFirst(3) : body[...]
        return text.first { !" \t\r\n".utf8.contains($0) }
    }
}
