import HTTPTypes
import Hummingbird
import NIOCore

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A request to the gists API, with its context.
struct GistCall: Sendable {
    let request: Request
    let context: ServerContext
    let server: AuthorizationServer
    let settings: GistSettings
    let origin: Origin
    /// The request's user, or `nil` if it has no token.
    let caller: GistCaller?

    /// The id in the path.
    var id: String { context.parameters.get("id") ?? "" }

    /// The user of a request that requires one.
    ///
    /// - Throws: `GistError.requiresAuthentication`.
    func user() throws -> User {
        guard let caller else { throw GistError.requiresAuthentication }
        return caller.user
    }

    /// The user, if the token allows changes. Otherwise, GitHub responds that the gist does not exist.
    ///
    /// - Throws: `GistError`.
    func writer() throws -> User {
        let user = try user()
        guard caller?.mayWrite == true else { throw GistError.notFound }
        return user
    }

    /// The request body.
    ///
    /// - Throws: `GistError` if the body is not a JSON object.
    func edit() async throws -> GistEdit {
        let body = try await request.body.collect(upTo: context.maxUploadSize)
        let json: JSONValue
        do {
            json = try JSONDecoder().decode(JSONValue.self, from: Data(body.readableBytesView))
        } catch is DecodingError {
            throw GistError.malformed
        }
        guard case .object(let members) = json else { throw GistError.notAnObject }
        return try GistEdit(members)
    }

    func document(_ gist: Gist) throws -> GistDocument {
        let (users, personality) = (server.settings.users, server.settings.personality)
        guard let owner = users[gist.owner] else { throw GistError.notFound }
        // The number in the response from the service's user endpoint.
        let documented = personality.userInfo(of: owner, scope: personality.scope)?["id"]
        let number = if case .integer(let id) = documented { id } else { owner.id }
        return GistDocument(gist: gist, owner: owner, ownerID: number, origin: origin)
    }

    /// The record of a change by this request.
    func change(of gist: String, by user: User, changed: Bool = true) -> AppliedGistChange {
        AppliedGistChange(
            request: context.requestNumber,
            method: request.method.rawValue,
            gist: gist,
            user: user.username,
            at: server.clock.now.timeIntervalSince1970,
            changed: changed
        )
    }
}

// MARK: - Responses

extension GistCall {
    /// The requested representation, or `304 Not Modified` if the client already has it.
    ///
    /// Source: RFC 9110, sections 13.1.2, 13.1.3 and 15.4.5. `If-Modified-Since` must equal the earlier
    /// `Last-Modified`, and is ignored if there is an `If-None-Match`.
    func representation(
        _ value: some Encodable,
        headers: HTTPFields = [:],
        lastModified: Date? = nil
    ) throws -> Response {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let text = String(decoding: try encoder.encode(value), as: UTF8.self)
        let token = settings.etagsByToken ? request.headers.bearerToken ?? "" : ""
        let opaque = SHA256.hash(text + token).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        var headers = headers
        headers[.contentType] = "application/json; charset=utf-8"
        headers[.cacheControl] = "private, max-age=60, s-maxage=60"
        headers[.eTag] = (settings.weakETags ? "W/" : "") + "\"\(opaque)\""
        headers[.lastModified] = lastModified?.httpFormat
        guard !isFresh(opaque, lastModified: headers[.lastModified]) else {
            headers[.contentType] = nil
            return Response(status: .notModified, headers: headers)
        }
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    private func isFresh(_ opaque: String, lastModified: String?) -> Bool {
        if let tags = request.headers[.ifNoneMatch] {
            // Weak comparison ignores `W/`.
            return tags == "*" || tags.split(separator: "\"").contains { $0 == opaque }
        }
        return lastModified != nil && request.headers[.ifModifiedSince] == lastModified
    }
}
