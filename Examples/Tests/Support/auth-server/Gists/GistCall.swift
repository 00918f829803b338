import HTTPTypes
import Hummingbird
import NIOCore

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A request to the gists API, and what is known about it before it is carried out.
struct GistCall: Sendable {
    let request: Request
    let context: ServerContext
    let server: AuthorizationServer
    let settings: GistSettings
    let origin: Origin
    /// `nil` for a request without a token.
    let caller: GistCaller?

    /// The gist that the path names.
    var id: String { context.parameters.get("id") ?? "" }

    /// The user, without whom this request cannot be carried out.
    ///
    /// - Throws: `GistError.requiresAuthentication`.
    func user() throws -> User {
        guard let caller else { throw GistError.requiresAuthentication }
        return caller.user
    }

    /// The user, if the token is good for changes; GitHub says that there is nothing if it is not.
    ///
    /// - Throws: `GistError`.
    func writer() throws -> User {
        let user = try user()
        guard caller?.mayWrite == true else { throw GistError.notFound }
        return user
    }

    /// The body.
    ///
    /// - Throws: `GistError` when it is no JSON, or no object.
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
        let (users, quirks) = (server.settings.users, server.settings.quirks)
        guard let owner = users[gist.owner] else { throw GistError.notFound }
        // The number that the service's own user endpoint says.
        let documented = quirks.userInfo(of: owner, scope: quirks.scope)?["id"]
        let number = if case .integer(let id) = documented { id } else { owner.id }
        return GistDocument(gist: gist, owner: owner, ownerID: number, origin: origin)
    }

    /// What is noted about a change that this request makes.
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
    /// What was asked for, or `304 Not Modified` when the client has it already.
    ///
    /// Source: RFC 9110, sections 13.1.2, 13.1.3 and 15.4.5. `If-Modified-Since` has to be exactly the `Last-Modified` of
    /// before, and is not looked at when there is `If-None-Match`.
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
            // Compared weakly: W/ makes no difference.
            return tags == "*" || tags.split(separator: "\"").contains { $0 == opaque }
        }
        return lastModified != nil && request.headers[.ifModifiedSince] == lastModified
    }
}
