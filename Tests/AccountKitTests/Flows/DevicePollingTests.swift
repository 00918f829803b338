import Testing

@testable import AccountKit

struct DevicePollingTests {
    private static let authorization = DeviceAuthorization(
        deviceCode: Secret("device"), userCode: "WDJB-MJHT", verificationURI: "https://example.com/device",
        lifetime: .seconds(600), interval: .seconds(5))

    private static let expired = AuthorityError.oauthError("expired_token")

    @Test func `Sends the first device poll after one interval`() throws {
        #expect(try DevicePolling(Self.authorization).firstPause() == .seconds(5))
    }

    @Test(arguments: [Duration.zero, .milliseconds(1), .seconds(-5)])
    func `Polls for a device sign-in at most once a second`(interval: Duration) throws {
        var authorization = Self.authorization
        authorization.interval = interval
        var polling = DevicePolling(authorization)
        #expect(try polling.firstPause() == .seconds(1))
        let pending = try polling.pause(after: .oauthError("authorization_pending"), elapsed: .seconds(1))
        #expect(pending == .seconds(1))
    }

    @Test func `Keeps the poll interval while the authorization is pending`() throws {
        var polling = DevicePolling(Self.authorization)
        for elapsed in [5, 10, 15] {
            let step = try polling.pause(after: .oauthError("authorization_pending"), elapsed: .seconds(elapsed))
            #expect(step == .seconds(5))
        }
    }

    @Test func `Adds five seconds to every later poll interval after slow_down`() throws {
        var polling = DevicePolling(Self.authorization)
        #expect(try polling.pause(after: .oauthError("slow_down"), elapsed: .seconds(5)) == .seconds(10))
        #expect(try polling.pause(after: .oauthError("slow_down"), elapsed: .seconds(15)) == .seconds(15))
        let pending = try polling.pause(after: .oauthError("authorization_pending"), elapsed: .seconds(30))
        #expect(pending == .seconds(15))
    }

    @Test(
        arguments: [
            .noResponse(.timeout), .noResponse(.unknownHost), .unavailable(status: 429, retryAfter: nil),
            .unavailable(status: 503, retryAfter: nil), .intercepted("a web page"), .unclear("no JSON"),
        ] as [AuthorityError])
    func `Slows down the polls after failures until the device code expires`(failure: AuthorityError) throws {
        var polling = DevicePolling(Self.authorization)
        var pauses: [Duration] = []
        for _ in 0..<8 { pauses.append(try polling.pause(after: failure, elapsed: .seconds(60))) }
        #expect(pauses == [10, 20, 40, 60, 60, 60, 60, 60].map { .seconds($0) })
        #expect(try polling.pause(after: failure, elapsed: .seconds(590)) == .seconds(10))
        #expect(throws: Self.expired) { try polling.pause(after: failure, elapsed: .seconds(600)) }
    }

    @Test func `Honors Retry-After while polling for a device sign-in`() throws {
        var polling = DevicePolling(Self.authorization)
        let step = try polling.pause(after: .unavailable(status: 429, retryAfter: .seconds(90)), elapsed: .seconds(5))
        #expect(step == .seconds(90))
    }

    @Test(
        arguments: [.oauthError("access_denied"), .oauthError("invalid_grant"), .misconfigured("no such client")]
            as [AuthorityError])
    func `Ends the polling of a device sign-in after a refusal`(failure: AuthorityError) {
        var polling = DevicePolling(Self.authorization)
        #expect(throws: failure) { try polling.pause(after: failure, elapsed: .seconds(5)) }
    }

    @Test func `Ends the polling of a device sign-in when the code expires`() {
        var polling = DevicePolling(Self.authorization)
        #expect(throws: Self.expired) { try polling.pause(after: Self.expired, elapsed: .seconds(5)) }
    }
}
