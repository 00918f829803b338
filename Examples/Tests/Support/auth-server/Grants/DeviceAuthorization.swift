#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A sign-in that was begun on a device without a browser and waits for its user to agree elsewhere.
///
/// Source: RFC 8628.
struct DeviceAuthorization: Codable, Equatable, Sendable {
    /// What the user has said so far.
    enum Decision: Codable, Equatable, Sendable {
        case pending
        case denied
        case approved(username: String)
    }

    /// What the user types, for example `WDJB-MJHT`.
    let userCode: String
    let scope: Scope
    var target = Target()
    let expiresAt: Date
    /// The least time between two polls, in seconds; it grows when the device polls too often.
    var interval: Int
    var lastPolledAt: Date?
    var decision = Decision.pending
}
