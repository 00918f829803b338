import HTTPTypes
import Hummingbird
import NIOCore
import NIOFoundationEssentialsCompat

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension Response {
    /// A JSON response with its members in alphabetical order.
    static func json(
        _ value: some Encodable,
        status: HTTPResponse.Status = .ok,
        headers: HTTPFields = [:]
    ) throws -> Response {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var headers = headers
        headers[.contentType] = "application/json"
        let body = ByteBuffer(data: try encoder.encode(value))
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: body))
    }

    /// A page that loads nothing, runs no scripts, cannot be framed, and sends forms only to this server.
    ///
    /// - Parameter formTarget: A further target for the redirect after a form.
    static func html(_ page: String, status: HTTPResponse.Status = .ok, formTarget: String? = nil) -> Response {
        let targets = ["'self'", formTarget].compactMap { $0 }.joined(separator: " ")
        var headers = HTTPFields.neverStored
        headers[.contentType] = "text/html; charset=utf-8"
        headers[.contentSecurityPolicy] = "default-src 'none'; form-action \(targets); frame-ancestors 'none'"
        headers[.referrerPolicy] = "no-referrer"
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: page)))
    }
}

extension HTTPFields {
    /// The fields of responses that contain or describe tokens.
    ///
    /// Source: RFC 6749, section 5.1.
    static var neverStored: HTTPFields { [.cacheControl: "no-store", .pragma: "no-cache"] }
}

extension HTTPField.Name {
    fileprivate static let pragma = Self("Pragma")!
    fileprivate static let referrerPolicy = Self("Referrer-Policy")!
}
