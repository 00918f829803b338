import AccountKit
import AccountSupport

/// The search for a document that a server may have at several addresses.
///
/// *Every address is asked before the search fails.* Any answer that is not the document means that the document is not at
/// this address: any 4xx, a redirect (which is not followed), a web page, other JSON, a document of another issuer. A
/// temporary failure (a 5xx, a 429, a failed connection) does not. After the other addresses, such an address is asked once
/// more, unless the server requested a pause. The failure counts only if no address has the document: it is then unknown
/// whether there is one.
struct DocumentSearch: Sendable {
    struct Found<Document: Sendable>: Sendable {
        let document: Document
        let url: ServiceURL
        let response: ServiceResponse
    }

    let send: @Sendable (ServiceRequest) async throws(AuthorityError) -> ServiceResponse

    /// The longest document, in bytes.
    var bodyLimit = ServiceResponse.bodyLimit

    /// The addresses where the document is not, and what they answered.
    private(set) var absences: [(url: ServiceURL, answer: AuthorityError)] = []

    /// The addresses that failed temporarily.
    private(set) var failures: [(url: ServiceURL, failure: AuthorityError)] = []

    init(send: @escaping @Sendable (ServiceRequest) async throws(AuthorityError) -> ServiceResponse) {
        self.send = send
    }

    /// Returns the first document, or `nil` if none of the addresses has one. Asks no address that has already answered.
    ///
    /// - Parameter read: Reads a response. Throws an error if it is not the document.
    /// - Throws: The failure after which no other address helps, such as a cancellation.
    mutating func document<Document: Sendable>(
        at urls: [ServiceURL], _ read: (ServiceResponse) throws(AuthorityError) -> Document
    ) async throws(AuthorityError) -> Found<Document>? {
        for url in urls where !isAnswered(url) && !failures.contains(where: { $0.url == url }) {
            if let found = try await document(at: url, read) { return found }
        }
        return nil
    }

    /// Asks the addresses again that failed temporarily.
    mutating func documentAtSecondTry<Document: Sendable>(
        _ read: (ServiceResponse) throws(AuthorityError) -> Document
    ) async throws(AuthorityError) -> Found<Document>? {
        let again = failures.filter { $0.failure.isWorthAskingAgain }.map(\.url)
        for url in again {
            failures.removeAll { $0.url == url }
            if let found = try await document(at: url, read) { return found }
        }
        return nil
    }

    /// Whether a server has responded, even with an error.
    var hasAnswer: Bool { !absences.isEmpty || failures.contains { $0.failure.isFromServer } }

    func isAnswered(_ url: ServiceURL) -> Bool { absences.contains { $0.url == url } }

    /// What each address answered, in the order of the requests.
    var answers: [String] { absences.map { "\($0.url): \($0.answer.answerText)" } }

    private mutating func document<Document: Sendable>(
        at url: ServiceURL, _ read: (ServiceResponse) throws(AuthorityError) -> Document
    ) async throws(AuthorityError) -> Found<Document>? {
        if let failure = failure(ofHostOf: url) {
            failures.append((url, failure))
            return nil
        }
        let response: ServiceResponse
        do throws(AuthorityError) {
            var request = ServiceRequest(url: url)
            request.bodyLimit = bodyLimit
            response = try await send(request)
        } catch {
            guard error.isAboutAddress else { throw error }
            failures.append((url, error))
            return nil
        }
        do throws(AuthorityError) {
            return Found(document: try read(response), url: url, response: response)
        } catch {
            switch error {
            case .proxyAuthenticationRequired: throw error
            case .unavailable: failures.append((url, error))
            case .intercepted where response.status == 511: failures.append((url, error))
            default: absences.append((url, error))
            }
            return nil
        }
    }

    /// Returns the failure that every request to a host has, because it is not about the address: the name is unknown,
    /// the certificate is not trusted, or the host was silent twice.
    private func failure(ofHostOf url: ServiceURL) -> AuthorityError? {
        let others = failures.filter { $0.url.origin == url.origin }.map(\.failure)
        let timeouts = others.filter { if case .noResponse(.timeout) = $0 { true } else { false } }
        return others.first(where: \.isAboutWholeHost) ?? (timeouts.count > 1 ? timeouts[0] : nil)
    }
}

extension AuthorityError {
    /// Whether another address may help after a request without a response.
    var isAboutAddress: Bool {
        switch self {
        case .noResponse(let failure): ![.cancelled, .leaseLost, .noThread].contains(failure.kind)
        case .untrustedTLS, .unclear: true
        // The network settings allow no request, or the address is in a network that the server must not name.
        default: false
        }
    }

    /// Whether every request to the host fails like this.
    fileprivate var isAboutWholeHost: Bool {
        switch self {
        case .noResponse(let failure): failure.stage == .nameLookUp || failure.kind == .proxy
        case .untrustedTLS: true
        default: false
        }
    }

    /// Whether a server has responded that it cannot answer now.
    var isFromServer: Bool { if case .unavailable = self { true } else { false } }

    /// Whether a search failed because no address has a document.
    var isAbsence: Bool {
        switch self {
        case .misconfigured, .intercepted: true
        default: false
        }
    }

    /// Whether a second request may succeed at once. A server that requested a pause gets it.
    fileprivate var isWorthAskingAgain: Bool {
        switch self {
        case .noResponse(.timeout): false
        case .noResponse: !isAboutWholeHost
        case .unavailable(_, let retryAfter): retryAfter == nil
        default: false
        }
    }
}
