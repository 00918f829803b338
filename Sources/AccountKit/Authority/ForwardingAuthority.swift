/// An authority that sends requests of other programs with the account's token.
package protocol ForwardingAuthority: AccountAuthority {
    /// Sends a request with the token of the signed-in user, refreshed first if necessary.
    ///
    /// If the server rejects the token, the token is refreshed once and the request is sent again. The token is sent
    /// only to the URL of the request, and redirects are not followed. There is no timeout once the connection is open:
    /// cancel the task to end the request.
    ///
    /// - Returns: The response with any status. A caller that stops reading the body closes the connection.
    /// - Throws: An ``AccountError`` if there is no token or no response.
    func forward(_ request: ForwardedRequest, for store: AccountStore) async throws -> ForwardedResponse
}

/// A request of another program, without its token.
package struct ForwardedRequest: Sendable {
    package var method: String

    /// The absolute URL, which may contain a query.
    package var url: String

    package var fields: [String: String]
    package var body: [UInt8]?

    package init(method: String, url: String, fields: [String: String] = [:], body: [UInt8]? = nil) {
        self.method = method
        self.url = url
        self.fields = fields
        self.body = body
    }
}

/// A response to a forwarded request, with its body still arriving.
package struct ForwardedResponse: Sendable {
    package let status: Int

    /// The pieces of the body. The connection delivers a piece only when the caller asks for it.
    package let body: any AsyncSequence<[UInt8], any Error> & Sendable

    /// By lowercase names.
    private let fields: [String: String]

    /// - Parameter fields: The header fields, with names in any case. Of several with one name, the first counts.
    package init(
        status: Int, fields: [(name: String, value: String)],
        body: any AsyncSequence<[UInt8], any Error> & Sendable
    ) {
        self.status = status
        self.fields = Dictionary(fields.map { ($0.name.lowercased(), $0.value) }) { first, _ in first }
        self.body = body
    }

    /// Returns the value of a header field (RFC 9110, section 5.1), or `nil` if there is none.
    package func field(_ name: String) -> String? { fields[name.lowercased()] }

    /// The media type in lower case, without parameters (RFC 9110, section 8.3.1).
    package var mediaType: String {
        String((field("content-type") ?? "").prefix { $0 != ";" }).filter { $0 != " " && $0 != "\t" }.lowercased()
    }
}
