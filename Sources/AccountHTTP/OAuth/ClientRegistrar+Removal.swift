import AccountKit
import AccountSupport
import HTTPTypes

/// The removal of registrations that no session uses.
extension ClientRegistrar {
    /// See ``ServiceAuthority/removeRegistration(of:unless:)``.
    func remove(of account: Account, unless isUsed: @Sendable () async throws -> Bool) async throws(AccountError) {
        guard let registrations = client.registrations,
            let known = try await registrations.registration(at: connection.name),
            known.clientID == account.credentials.clientID, known.management != nil
        else { return }
        state.endUse()
        try await registrations.remove(clientID: known.clientID, at: connection.name, unless: isUsed) { registration in
            try await removeAtService(registration)
        }
    }

    /// Whether a sign-in has replaced a registration that the service can remove.
    var hasReplaced: Bool { state.replaced?.management != nil }

    /// See ``ServiceAuthority/removeReplacedRegistration(unless:)``.
    func removeReplaced(
        unless isUsed: @Sendable (_ clientID: String) async throws -> Bool
    ) async throws(AccountError) {
        guard hasReplaced, let registrations = client.registrations,
            let replaced = state.replaced
        else { return }
        state.endUse()
        try await registrations.removeReplaced(replaced) {
            try await isUsed(replaced.clientID)
        } removingAtService: { registration in
            try await removeAtService(registration)
        }
    }

    private func removeAtService(_ registration: ClientRegistration) async throws(AccountError) {
        let failure = "the registration of this app at \(connection.name) could not be removed"
        let hint = "the next sign-in uses it again"
        guard let management = registration.management, let url = try? ServiceURL(management.url) else {
            throw AccountError(.serviceUnavailable, failure, hint: hint)
        }
        var request = ServiceRequest(url: url, bearer: management.token)
        request.method = .delete
        let response: ServiceResponse
        do throws(AuthorityError) {
            // Other sign-ins wait for this request.
            response = try await connection.transport.send(
                request, timeout: min(connection.timeout, .seconds(5)), clock: connection.clock,
                logger: connection.logger)
        } catch {
            throw AccountError(.serviceUnavailable, failure, hint: hint, cause: RequestFailure(error))
        }
        // RFC 7592, section 2.3. After a 401 or 404, the registration is already gone.
        guard [200, 204, 401, 404].contains(response.status) else {
            throw AccountError(.serviceUnavailable, "\(failure) (\(response.status))", hint: hint)
        }
    }
}
