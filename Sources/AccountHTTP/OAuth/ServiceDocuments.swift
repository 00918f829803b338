import AccountKit
import AccountSupport
import Synchronization

/// The discovery documents of a service, each read when it is needed. If a document has no usable value, AccountKit uses
/// that of the next one. A failed request is an error, not a missing value.
final class ServiceDocuments: Sendable {
    private struct Found {
        var document = ServiceDocument()

        /// The addresses that have not answered yet.
        var unread: [ServiceURL] = []
        var freshUntil: Date?
    }

    private let discovery: Discovery
    private let send: @Sendable (ServiceRequest) async throws(AuthorityError) -> ServiceResponse

    /// The documents, in the order of their addresses.
    private let found: Mutex<[Found]>
    private let fetches = SingleFlight<Int, Result<Found, AuthorityError>>(by: ==)

    /// - Parameter endpoints: The endpoints, if they are already known. In this case, AccountKit reads no document.
    init(
        _ discovery: Discovery, endpoints: OAuthEndpoints? = nil,
        send: @escaping @Sendable (ServiceRequest) async throws(AuthorityError) -> ServiceResponse
    ) {
        self.discovery = discovery
        self.send = send
        found = Mutex(endpoints.map { [Found(document: ServiceDocument(urls: $0.urls))] } ?? [])
    }

    /// Whether this process has read a document, or needs none.
    var isKnown: Bool { found.withLock { !$0.isEmpty } }

    /// Returns an endpoint; `nil` if no document names a usable one. An endpoint is judged when it is needed: a sign-in or
    /// a refresh that does not need it is not affected by its flaw.
    func endpoint(_ name: EndpointName) async throws(AuthorityError) -> Endpoint? {
        let main = try await found(0)
        if main.document.urls[name] == nil, let url = discovery.knownURL(name) {
            return Endpoint(url: url, document: main.document, freshUntil: main.freshUntil)
        }
        return try await first { found in
            guard let url = found.document.urls[name] else { return nil }
            var document = found.document
            // The first document has priority. An account stores its user info endpoint with the token endpoint.
            document.urls[.userInfo] = main.document.urls[.userInfo] ?? document.urls[.userInfo]
            return Endpoint(url: url, document: document, freshUntil: found.freshUntil)
        }
    }

    /// Returns the reason why ``endpoint(_:)`` found none; `nil` if no document names the endpoint.
    func flaw(of name: EndpointName) -> AuthorityError? {
        let flaws = found.withLock { $0.compactMap { $0.document.flaws[name] } }
        return flaws.first.map { .misconfigured("in the discovery document of \(discovery.issuer.identifier), \($0)") }
    }

    func scopes() async throws(AuthorityError) -> [String]? { try await found(0).document.scopes }

    func documentation() async throws(AuthorityError) -> String? { try await found(0).document.documentation }

    func listsGrant(_ grant: String) async throws(AuthorityError) -> Bool {
        try await first { $0.document.grants?.contains(grant) == true ? true : nil } ?? false
    }

    /// Returns the first value in the documents, which are read one after another.
    private func first<Value>(_ value: (Found) -> Value?) async throws(AuthorityError) -> Value? {
        var number = 0
        while true {
            let found = try await found(number)
            if let value = value(found) { return value }
            guard !found.unread.isEmpty else { return nil }
            number += 1
        }
    }

    /// Reads the first document.
    func load() async throws(AuthorityError) { _ = try await found(0) }

    private func found(_ number: Int) async throws(AuthorityError) -> Found {
        if let known = found.withLock({ number < $0.count ? $0[number] : nil }) { return known }
        // Without threads, the task below would wait forever.
        guard ThreadSupply.isSufficient else { throw .noThread }
        let result: Result<Found, AuthorityError>
        do throws(SingleFlight<Int, Result<Found, AuthorityError>>.Departure) {
            result = try await fetches.value(for: number) { _ in
                // Another task may have just read the document.
                if let known = self.found.withLock({ number < $0.count ? $0[number] : nil }) { return .success(known) }
                do throws(AuthorityError) {
                    let found = try await self.fetch(number)
                    self.found.withLock { if $0.count == number { $0.append(found) } }
                    return .success(found)
                } catch {
                    return .failure(error)
                }
            }
        } catch {
            throw .noResponse(.cancelled)
        }
        return try result.get()
    }

    private func fetch(_ number: Int) async throws(AuthorityError) -> Found {
        let urls = number == 0 ? discovery.urls : try await found(number - 1).unread
        var search = DocumentSearch(send: send)
        // Only the first document decides whether the service can be trusted. Ignore a further document that cannot be trusted.
        let read = number == 0 ? discovery.read : discovery.document
        var result = try await search.document(at: urls, read)
        if result == nil { result = try await search.documentAtSecondTry(read) }
        guard let result else {
            if let failure = search.failures.first?.failure { throw failure }
            guard number == 0 else { return Found() }
            throw discovery.absence(search.absences)
        }
        if number == 0 { try discovery.checkServers(of: result.document) }
        let unread = urls.filter { $0 != result.url && !search.isAnswered($0) }
        return Found(document: result.document, unread: unread, freshUntil: MetadataLifetime.end(of: result.response))
    }
}
