#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A sign-in on a device without a browser, which waits for the user's approval on another device.
///
/// Source: RFC 8628.
struct DeviceAuthorization: Codable, Equatable, Sendable {
    /// The user's decision so far.
    enum Decision: Codable, Equatable, Sendable {
        case pending
        case denied
        case approved(username: String)
    }

    /// The code that the user types, for example `WDJB-MJHT`.
    let userCode: String
    let scope: Scope
    var target = Target()
    let expiresAt: Date
    /// The minimum time between two polls, in seconds. It increases if the device polls too often.
    var interval: Int
    var lastPolledAt: Date?
    var decision = Decision.pending
}
