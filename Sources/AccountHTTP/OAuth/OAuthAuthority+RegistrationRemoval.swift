package import AccountKit
import AccountSupport
import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension OAuthAuthority {
    package var hasRejectedRegistration: Bool { registrationState.hasRejection }

    package func removeRegistration(
        of account: Account, unless isUsed: () async throws -> Bool
    ) async throws(AccountError) {
        guard let registrations = client.registrations,
            let known = try await registrations.registration(at: issuer),
            known.clientID == account.credentials.clientID, known.management != nil
        else { return }
        registrationState.endUse()
        try await registrations.remove(clientID: known.clientID, at: issuer, unless: isUsed) { registration in
            try await removeAtService(registration)
        }
    }

    package var hasReplacedRegistration: Bool { registrationState.replaced?.management != nil }

    package func removeReplacedRegistration(
        unless isUsed: (_ clientID: String) async throws -> Bool
    ) async throws(AccountError) {
        guard hasReplacedRegistration, let registrations = client.registrations,
            let replaced = registrationState.replaced
        else { return }
        registrationState.endUse()
        try await registrations.removeReplaced(replaced) {
            try await isUsed(replaced.clientID)
        } removingAtService: { registration in
            try await removeAtService(registration)
        }
    }

    private func removeAtService(_ registration: ClientRegistration) async throws(AccountError) {
        let failure = "the registration of this app at \(issuer) could not be removed"
        let hint = "the next sign-in uses it again"
        guard let management = registration.management, let url = try? ServiceURL(management.url) else {
            throw AccountError(.serviceUnavailable, failure, hint: hint)
        }
        var request = ServiceRequest(url: url, bearer: management.token)
        request.method = .delete
        let response: ServiceResponse
        do throws(AuthorityError) {
            // Other sign-ins wait for this request.
            response = try await transport.send(
                request, timeout: min(timeout, .seconds(5)), clock: clock, logger: logger)
        } catch {
            throw AccountError(.serviceUnavailable, failure, hint: hint, cause: RequestFailure(error))
        }
        // RFC 7592, section 2.3. After a 401 or 404, the registration is already gone.
        guard [200, 204, 401, 404].contains(response.status) else {
            throw AccountError(.serviceUnavailable, "\(failure) (\(response.status))", hint: hint)
        }
    }
}
