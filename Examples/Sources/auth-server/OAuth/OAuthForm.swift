import HTTPTypes
import Hummingbird
import NIOCore

/// The parameters of a request to an OAuth endpoint, from a client that has said who it is.
///
/// Source: RFC 6749, sections 3.1 and 3.2: a form in the body, no parameter twice, and one without a value counts as
/// not sent.
struct OAuthForm: Sendable {
    private let parameters: [String: String]
    private let manner: any Manner

    /// Reads the form and checks the client.
    ///
    /// - Throws: `OAuthError` when it is not a form, or when the client is not known.
    init(_ request: Request, context: some RequestContext, settings: ServerSettings) async throws {
        manner = settings.manner
        parameters = try await FormBody.parameters(of: request, context: context)
        try checkClient(settings.clientID, headers: request.headers)
    }

    subscript(name: String) -> String? { parameters[name] }

    /// The value of a parameter that must be there.
    func required(_ name: String) throws -> String {
        guard let value = parameters[name] else { throw OAuthError(.invalidRequest, "\(name) is missing") }
        return value
    }

    /// The scope the client asks for, or `nil` when it does not ask for one.
    func scope() throws -> Scope? {
        guard let text = parameters["scope"] else { return nil }
        guard let scope = Scope(text, of: manner.scope) else {
            throw OAuthError(.invalidScope, "scope has an unknown name")
        }
        return scope
    }

    /// Checks that the client has sent a secret; which one does not matter.
    func requireSecret() throws {
        guard parameters["client_secret"] != nil else { throw OAuthError(.invalidClient, "client_secret is missing") }
    }

    private func checkClient(_ clientID: String, headers: HTTPFields) throws {
        if headers[.authorization] != nil {
            var error = OAuthError(.invalidClient, "this client has no secret; send client_id in the body")
            error.clientUsedAuthorizationField = true
            throw error
        }
        guard parameters["client_id"] == clientID else { throw OAuthError(.invalidClient, "unknown client") }
    }
}

/// A form in the body of a request.
enum FormBody {
    /// The parameters that have a value.
    static func parameters(of request: Request, context: some RequestContext) async throws -> [String: String] {
        let mediaType = request.headers[.contentType]?.prefix { $0 != ";" } ?? ""
        guard mediaType.trimmingSuffix(" ").lowercased() == "application/x-www-form-urlencoded" else {
            throw OAuthError(.invalidRequest, "the body must be a form")
        }
        let body = try await request.body.collect(upTo: context.maxUploadSize)
        return try parameters(in: String(buffer: body))
    }

    /// The parameters of a form or of the query of a URL that have a value.
    static func parameters(in text: String) throws -> [String: String] {
        do {
            let all = try URLEncodedFormDecoder().decode([String: String].self, from: text)
            return all.filter { !$0.value.isEmpty }
        } catch {
            // The decoder's error quotes what the client sent, which may be a password.
            throw OAuthError(.invalidRequest, "the form is malformed, or has a parameter twice")
        }
    }
}

extension Substring {
    fileprivate func trimmingSuffix(_ character: Character) -> Substring {
        var text = self
        while text.last == character { text.removeLast() }
        return text
    }
}
