import AccountHTTP
import AccountKit
import AccountDocuments
import HTTPTypes

/// Files of a server that requires only a token.
struct BenchBlobs: RemoteBlob {
    let origin: String

    func request(downloading id: String) -> HTTPRequest { request(.get, id) }
    func request(uploading id: String) -> HTTPRequest { request(.put, id) }

    private func request(_ method: HTTPRequest.Method, _ id: String) -> HTTPRequest {
        HTTPRequest(method: method, scheme: "http", authority: String(origin.dropFirst(7)), path: "/" + id)
    }

    /// The stored files.
    func collection(of store: AccountStore, in container: AppContainer) async throws -> OfflineBlobs {
        let client = try AuthenticatedClient(origin: origin, store: store, authority: NoAuthority())
        return try await OfflineBlobs("files", self, of: store, in: container) { request, body, receive in
            let response = try await client.stream(request, body: body, receiving: receive)
            return (response.head, response.body)
        }
    }
}

/// Never called: the token never expires.
private struct NoAuthority: AccountAuthority {
    var issuer: String? { nil }

    func verify(_ account: Account) async throws -> Identity {
        throw AuthorityError.misconfigured("there is no service")
    }
    func isAuthority(of account: Account) -> Bool { true }
}
