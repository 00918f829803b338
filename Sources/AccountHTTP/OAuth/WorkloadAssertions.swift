import AccountKit
import AccountSupport

/// The assertions with which a platform identifies this program at one service (RFC 7521).
struct WorkloadAssertions: ClientAssertion {
    let connection: ServiceConnection

    /// The identity of the program on its platform.
    let identity: WorkloadIdentity

    /// The required subject of the assertions that authenticate the client; `nil` if the session is not bound to one.
    var subject: String?

    private var source: WorkloadSource { identity.source }

    var keyFile: ClientKeyFile? { nil }

    func assertion(for client: String, audience: String, at date: Date) async throws(AuthorityError) -> Secret {
        let assertion = try await newAssertion()
        try Self.check(assertion, isFor: subject)
        return assertion
    }

    /// Requests a new assertion, for any subject.
    func newAssertion() async throws(AuthorityError) -> Secret {
        let assertion = try await source.assertion(
            for: source.audience ?? connection.name, timeout: connection.timeout
        ) { request async throws(AuthorityError) in
            try await connection.send(request)
        }
        try await checkAudience(of: assertion)
        return assertion
    }

    /// Returns why this program gets no assertion; `nil` if it gets one.
    func problem(isQuick: Bool) async -> AuthorityError? {
        if isQuick, case .command = source.kind { return nil }
        do throws(AuthorityError) {
            _ = try await source.assertion(for: source.audience ?? connection.name, timeout: connection.timeout) {
                request async throws(AuthorityError) in
                guard !isQuick else { throw .noResponse(.cancelled) }
                return try await connection.send(request)
            }
            return nil
        } catch {
            return error.isCancellation ? nil : error
        }
    }

    /// Throws an error if an assertion names its audience, and this service is not part of it (RFC 7523, section 3, number
    /// 3): another server must not receive an assertion that this workload uses elsewhere.
    private func checkAudience(of assertion: Secret) async throws(AuthorityError) {
        guard let audiences = JSONWebToken(assertion)?.audiences, let first = audiences.first else { return }
        let isExpected = audiences.contains {
            $0 == source.audience || connection.issuer.isSame(as: $0) || connection.issuer.isNamed(by: $0)
        }
        if isExpected { return }
        let endpoint = try await connection.documents.endpoint(.token)?.url
        if let endpoint, audiences.contains(where: { (try? ServiceURL($0)) == endpoint }) { return }
        let shown = ServerText(secrets: [assertion]).shown(first)
        throw .misconfigured(
            "the assertion is for \(shown ?? "another audience") (aud), and not for \(source.audience ?? connection.name), so it is "
                + "not sent: request an assertion for this service, or name the audience that the service expects (on a "
                + "command line, with --client-assertion-audience)")
    }

    // MARK: Content

    /// Returns the `sub` of an assertion, without a check of its signature; `nil` if the assertion is opaque.
    static func subject(of assertion: Secret) -> String? {
        guard let subject = JSONWebToken(assertion)?.claims["sub"]?.string, !subject.isEmpty else { return nil }
        return subject
    }

    /// Throws an error if an assertion is not for the subject that a session is bound to.
    static func check(_ assertion: Secret, isFor subject: String?) throws(AuthorityError) {
        guard let subject, self.subject(of: assertion) != subject else { return }
        throw .misconfigured(
            "the assertion is for \(self.subject(of: assertion) ?? "an unknown subject"), and the session belongs to "
                + "\(subject): use another session, or sign in again")
    }
}

extension FormBody {
    /// Adds an assertion that authenticates the client (RFC 7523, section 2.2).
    mutating func authenticate(with assertion: Secret) {
        append("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
        append("client_assertion", assertion)
    }
}
