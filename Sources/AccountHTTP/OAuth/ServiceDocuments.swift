import AccountKit

/// An endpoint, and the document that names it.
struct Endpoint: Sendable {
    let url: ServiceURL
    let document: ServiceDocument
}

/// The discovery documents of a service, merged: OpenID Connect's counts, and RFC 8414's for what that leaves out.
///
/// Nearly every service says all in the first, so the second is read only when something is missing. Each is read once, and
/// one that cannot be read for the moment is an error for who needs it, and no word about what there is.
struct ServiceDocuments: Sendable {
    private let discovery: Discovery
    private let first: FetchedOnce<(document: ServiceDocument, unread: [ServiceURL])>
    private let second: FetchedOnce<ServiceDocument>

    /// A service whose endpoints are known.
    init(_ endpoints: OAuthEndpoints, of discovery: Discovery) {
        self.discovery = discovery
        first = FetchedOnce((ServiceDocument(urls: endpoints.urls), []))
        second = FetchedOnce(ServiceDocument())
    }

    /// A service that says where its endpoints are.
    ///
    /// - Parameters:
    ///   - discovery: Where the documents may be.
    ///   - send: Sends a request.
    init(
        _ discovery: Discovery,
        send: @escaping @Sendable (HTTPRequest) async throws(AuthorityError) -> HTTPResponse
    ) {
        self.discovery = discovery
        let first = FetchedOnce.catching { () async throws(AuthorityError) in
            let urls = discovery.addresses
            for (number, url) in urls.enumerated() {
                let response = try await send(HTTPRequest(url: url))
                if response.status != 404 {
                    return (document: try discovery.document(in: response), unread: Array(urls[(number + 1)...]))
                }
            }
            throw discovery.isMissing
        }
        self.first = first
        second = FetchedOnce.catching { () async throws(AuthorityError) in
            for url in try await first.value().unread {
                let response = try await send(HTTPRequest(url: url))
                if let document = try discovery.furtherDocument(in: response) { return document }
            }
            return ServiceDocument()
        }
    }

    /// An endpoint; `nil` if no document names one, and the service's entry does not either.
    func endpoint(_ name: EndpointName) async throws(AuthorityError) -> Endpoint? {
        let (document, unread) = try await first.value()
        if let url = document.urls[name] ?? discovery.knownURL(name) { return Endpoint(url: url, document: document) }
        guard !unread.isEmpty else { return nil }
        let further = try await second.value()
        return further.urls[name].map { Endpoint(url: $0, document: further) }
    }

    /// What the service says of scopes in the first document.
    func scopes() async throws(AuthorityError) -> [String]? { try await first.value().document.scopes }
}
