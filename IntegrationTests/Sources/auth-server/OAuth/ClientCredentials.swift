import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A client's identifier and secret.
///
/// Source: RFC 6749, section 2.3.1.
struct ClientCredentials: Sendable {
    let id: String?
    let secret: String?
    /// The method by which the secret was sent, or `nil` if there is none.
    let method: ClientSecret.Method?

    /// - Throws: `OAuthError` if the `Authorization` field is not of scheme Basic, or if the client uses both methods
    ///   at once.
    init(_ parameters: [String: String], headers: HTTPFields) throws {
        guard let field = headers[.authorization] else {
            id = parameters["client_id"]
            secret = parameters["client_secret"]
            method = secret.map { _ in .post }
            return
        }
        let parts = field.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "basic", let bytes = Data(base64Encoded: String(parts[1]))
        else {
            throw Self.refusal("the Authorization field is malformed", usesField: true)
        }
        let pair = String(decoding: bytes, as: UTF8.self).split(separator: ":", maxSplits: 1)
        guard pair.count == 2, parameters["client_secret"] == nil,
            let id = Self.decoded(pair[0]), let secret = Self.decoded(pair[1])
        else { throw Self.refusal("name and secret are malformed, or there are two of them", usesField: true) }
        self.id = id
        self.secret = secret
        method = .basic
    }

    /// Checks the client's identifier, its secret, and the method by which the secret was sent.
    func check(_ settings: ServerSettings) throws {
        let usesField = method == .basic
        guard let id, settings.knows(client: id) else { throw Self.refusal("unknown client", usesField: usesField) }
        guard let wanted = id == settings.clientID ? settings.clientSecret : settings.clients[id]?.secret else {
            let takesAny = TokenRoutes.GrantType.allCases.contains { settings.personality.secretGrants.contains($0) }
            guard secret == nil || takesAny else {
                throw Self.refusal("this client has no secret; send client_id in the body", usesField: usesField)
            }
            return
        }
        guard let method else { throw Self.refusal("client_secret is missing", usesField: false) }
        guard wanted.methods.contains(method), secret == wanted.text else {
            throw Self.refusal(
                "the secret is wrong, or was sent in a way that this client may not use", usesField: usesField)
        }
    }

    private static func refusal(_ explanation: String, usesField: Bool) -> OAuthError {
        var error = OAuthError(.invalidClient, explanation)
        error.clientUsedAuthorizationField = usesField
        return error
    }

    /// Source: RFC 6749, appendix B: name and secret are each encoded like the value of a form.
    private static func decoded(_ text: Substring) -> String? {
        (try? FormBody.parameters(in: "value=\(text)"))?["value"]
    }
}
