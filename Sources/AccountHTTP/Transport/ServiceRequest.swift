import AccountCrypto
import AccountKit
import AccountSupport
import HTTPTypes

/// A request to a service. The transport adds the secrets to the message only when it sends the request.
struct ServiceRequest: Sendable {
    let url: ServiceURL
    var method: HTTPRequest.Method
    var headerFields: HTTPFields = [:]

    /// The credentials, which are sent in the `Authorization` field and never in the URL (RFC 6750, section 5.3).
    var authorization: Authorization?

    let form: FormBody?

    var body: Data?

    /// The values that errors must not repeat.
    var secrets: [Secret]

    /// The time limit for the response, from the first byte of the request. `nil` if the request consumes no token or
    /// code, so that the caller can abandon it.
    var tokenRequestTimeout: Duration?

    var bodyLimit = ServiceResponse.bodyLimit

    /// The key for a proof in the header fields (RFC 9449); `nil` for a request without a proof.
    var key: ProofKey?

    /// The parts of the proof in the header fields that the server may refuse; `nil` if there is no proof yet.
    var proof: SentProof?

    /// Whether only the nonce in the response matters, so that no refusal leads to a second attempt.
    var isForNonceOnly = false

    enum Authorization: Sendable {
        case bearer(Secret)
        /// A token that is bound to a key (RFC 9449, section 7.1).
        case bound(Secret)
        /// A client's ID and secret, in base64 (RFC 7617).
        case basic(Secret)

        /// The value of the field. The code creates only one string, so that no other string contains the secret.
        var fieldValue: String {
            let (scheme, credentials) =
                switch self {
                case .bearer(let token): ("Bearer ", token)
                case .bound(let token): ("DPoP ", token)
                case .basic(let pair): ("Basic ", pair)
                }
            var field = WipedBytes(scheme.utf8)
            credentials.withUnsafeBytes { field.append(contentsOf: $0) }
            return String(decoding: field, as: UTF8.self)
        }
    }

    init(url: ServiceURL, bearer token: Secret? = nil, form: FormBody? = nil) {
        self.url = url
        self.form = form
        method = form == nil ? .get : .post
        authorization = token.map { .bearer($0) }
        secrets = (token.map { [$0] } ?? []) + (form?.secrets ?? [])
    }

    /// The request for the app's own transport, with the token as text.
    var message: HTTPRequest {
        var message = HTTPRequest(
            method: method, scheme: url.scheme, authority: url.authority, path: url.target, headerFields: headerFields)
        if let authorization { message.headerFields[.authorization] = authorization.fieldValue }
        return message
    }

    /// Adds the access token of a session, which the transport proves with the key of the session if the token is bound
    /// to that key.
    ///
    /// - Throws: `misconfigured` if the token requires a proof, and this program has no usable key.
    mutating func authorize(with credentials: Credentials) throws(AuthorityError) {
        let token = credentials.accessToken
        if credentials.requiresProof {
            key = try credentials.key
            authorization = .bound(token)
        } else {
            authorization = .bearer(token)
        }
        secrets.append(token)
    }
}

extension ServiceResponse {
    /// Returns the response to a request for data. A gateway may have compressed a text, although the request did not allow
    /// that. Other files may be compressed files themselves.
    func asRequested(by request: ServiceRequest) -> ServiceResponse {
        let isText = mediaType.map { $0.hasPrefix("text/") || $0.hasSuffix("json") } ?? true
        guard isCompressed, isText, request.headerFields[.acceptEncoding] == nil else { return self }
        return decompressed(limit: request.bodyLimit)
    }
}
