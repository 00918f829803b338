import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension OAuthAuthority: ClockAuthority {
    /// Asks for the discovery document, whose response says when it was made (`Date`, RFC 9110, section 6.6.1), also where
    /// there is none.
    package func clockOffset() async throws -> Duration? {
        let response = try await send(
            ServiceRequest(url: Discovery(issuer: issuerIdentifier, service: service).urls[0]))
        return response.date.map { .seconds($0.timeIntervalSince(response.receivedAt)) }
    }
}
