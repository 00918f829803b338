public import AccountKit

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension OAuthAuthority: ClockAuthority {
    /// Asks for the discovery document, whose response says when it was made (`Date`, RFC 9110, section 6.6.1), also where
    /// there is none.
    public func clockOffset() async throws -> TimeInterval? {
        let response = try await send(
            HTTPRequest(url: Discovery(issuer: issuerIdentifier, service: service).addresses[0]))
        return response.date?.timeIntervalSince(response.receivedAt)
    }
}
