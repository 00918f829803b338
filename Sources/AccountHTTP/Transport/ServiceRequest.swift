import AccountKit
import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Its secrets become part of a message at the last moment, and only on the way out.
struct ServiceRequest: Sendable {
    let url: ServiceURL
    var method: HTTPRequest.Method
    var headerFields: HTTPFields = [:]

    /// Sent in the `Authorization` field, and never in the URL (RFC 6750, section 5.3).
    var authorization: Authorization?

    let form: FormBody?

    /// A body that is no form.
    var body: Data?

    /// What no error may repeat.
    var secrets: [Secret]

    /// How long the response to a form that spends a token or a code may take, from the first byte sent; `nil` if it
    /// spends nothing, and may be given up at any time.
    var tokenRequestTimeout: Duration?

    /// Of the response, in bytes.
    var bodyLimit = ServiceResponse.bodyLimit

    enum Authorization: Sendable {
        case bearer(Secret)
        /// A client's identifier and secret, in base64 (RFC 7617).
        case basic(Secret)
    }

    init(url: ServiceURL, bearer token: Secret? = nil, form: FormBody? = nil) {
        self.url = url
        self.form = form
        method = form == nil ? .get : .post
        authorization = token.map { .bearer($0) }
        secrets = (token.map { [$0] } ?? []) + (form?.secrets ?? [])
    }
}
