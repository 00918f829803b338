import AccountKit
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The discovery documents of a service. If the OpenID Connect document omits a value, AccountKit also reads the RFC
/// 8414 document and uses its value. A failed request is an error, not a missing value.
final class ServiceDocuments: Sendable {
    private enum Position { case first, further }

    private struct Found {
        var document = ServiceDocument()
        var unread: [ServiceURL] = []
        var freshUntil: Date?
    }

    private let discovery: Discovery
    private let send: @Sendable (ServiceRequest) async throws(AuthorityError) -> ServiceResponse
    private let found: Mutex<[Position: Found]>
    private let fetches = SingleFlight<Position, Result<Found, AuthorityError>>(by: ==)

    /// - Parameter endpoints: The endpoints, if they are already known. In this case, AccountKit reads no document.
    init(
        _ discovery: Discovery, endpoints: OAuthEndpoints? = nil,
        send: @escaping @Sendable (ServiceRequest) async throws(AuthorityError) -> ServiceResponse
    ) {
        self.discovery = discovery
        self.send = send
        found = Mutex(endpoints.map { [.first: Found(document: ServiceDocument(urls: $0.urls))] } ?? [:])
    }

    /// Whether this process has read a document, or needs none.
    var isKnown: Bool { found.withLock { $0[.first] != nil } }

    func endpoint(_ name: EndpointName) async throws(AuthorityError) -> Endpoint? {
        let first = try await found(.first)
        if let url = first.document.urls[name] ?? discovery.knownURL(name) {
            return Endpoint(url: url, document: first.document, freshUntil: first.freshUntil)
        }
        guard !first.unread.isEmpty else { return nil }
        let further = try await found(.further)
        var document = further.document
        // The first document has priority. An account stores its user info endpoint with the token endpoint.
        document.urls[.userInfo] = first.document.urls[.userInfo] ?? document.urls[.userInfo]
        return document.urls[name].map { Endpoint(url: $0, document: document, freshUntil: further.freshUntil) }
    }

    func scopes() async throws(AuthorityError) -> [String]? { try await found(.first).document.scopes }

    func documentation() async throws(AuthorityError) -> String? { try await found(.first).document.documentation }

    func listsGrant(_ grant: String) async throws(AuthorityError) -> Bool {
        let first = try await found(.first)
        if first.document.grants?.contains(grant) == true { return true }
        guard !first.unread.isEmpty else { return false }
        return try await found(.further).document.grants?.contains(grant) == true
    }

    private func found(_ position: Position) async throws(AuthorityError) -> Found {
        if let known = found.withLock({ $0[position] }) { return known }
        let result: Result<Found, AuthorityError>
        do throws(SingleFlight<Position, Result<Found, AuthorityError>>.Departure) {
            result = try await fetches.value(for: position) { _ in
                // Another task may have just read the document.
                if let known = self.found.withLock({ $0[position] }) { return .success(known) }
                do throws(AuthorityError) {
                    let found = try await self.fetch(position)
                    self.found.withLock { $0[position] = found }
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

    private func fetch(_ position: Position) async throws(AuthorityError) -> Found {
        switch position {
        case .first:
            let urls = discovery.urls
            for (number, url) in urls.enumerated() {
                let response = try await send(ServiceRequest(url: url))
                if !(response.status == 404 || discovery.isFromAPI && response.isAbsence) {
                    return Found(
                        document: try discovery.document(in: response), unread: Array(urls[(number + 1)...]),
                        freshUntil: MetadataLifetime.end(of: response))
                }
            }
            throw .misconfigured(
                "\(discovery.issuer.identifier) has no discovery document: check the issuer"
            )
        case .further:
            for url in try await found(.first).unread {
                let response = try await send(ServiceRequest(url: url))
                if let document = try discovery.furtherDocument(in: response) {
                    return Found(document: document, freshUntil: MetadataLifetime.end(of: response))
                }
            }
            return Found()
        }
    }
}
