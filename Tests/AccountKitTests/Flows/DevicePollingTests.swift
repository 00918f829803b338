import Testing

@testable import AccountKit

struct DevicePollingTests {
    private static let authorization = DeviceAuthorization(
        deviceCode: Secret("device"), userCode: "WDJB-MJHT", verificationURI: "https://example.com/device",
        lifetime: .seconds(600), interval: .seconds(5))

    @Test func `Sends the first device poll after one interval`() {
        #expect(DevicePolling(Self.authorization).start() == .poll(after: .seconds(5)))
    }

    @Test(arguments: [Duration.zero, .milliseconds(1), .seconds(-5)])
    func `Polls for a device sign-in at most once a second`(interval: Duration) {
        var authorization = Self.authorization
        authorization.interval = interval
        var polling = DevicePolling(authorization)
        #expect(polling.start() == .poll(after: .seconds(1)))
        let pending = polling.next(after: .oauthError("authorization_pending"), elapsed: .seconds(1))
        #expect(pending == .poll(after: .seconds(1)))
    }

    @Test func `Keeps the poll interval while the authorization is pending`() {
        var polling = DevicePolling(Self.authorization)
        for elapsed in [5, 10, 15] {
            let step = polling.next(after: .oauthError("authorization_pending"), elapsed: .seconds(elapsed))
            #expect(step == .poll(after: .seconds(5)))
        }
    }

    @Test func `Adds five seconds to every later poll interval after slow_down`() {
        var polling = DevicePolling(Self.authorization)
        #expect(polling.next(after: .oauthError("slow_down"), elapsed: .seconds(5)) == .poll(after: .seconds(10)))
        #expect(polling.next(after: .oauthError("slow_down"), elapsed: .seconds(15)) == .poll(after: .seconds(15)))
        let pending = polling.next(after: .oauthError("authorization_pending"), elapsed: .seconds(30))
        #expect(pending == .poll(after: .seconds(15)))
    }

    @Test(
        arguments: [
            .noResponse(.timeout), .noResponse(.unknownHost), .unavailable(status: 429, retryAfter: nil),
            .unavailable(status: 503, retryAfter: nil), .intercepted("a web page"), .unclear("no JSON"),
        ] as [AuthorityError])
    func `Slows down the polls after failures until the device code expires`(failure: AuthorityError) {
        var polling = DevicePolling(Self.authorization)
        var pauses: [Duration] = []
        for _ in 0..<8 {
            guard case .poll(let pause) = polling.next(after: failure, elapsed: .seconds(60)) else { break }
            pauses.append(pause)
        }
        #expect(pauses == [10, 20, 40, 60, 60, 60, 60, 60].map { .seconds($0) })
        #expect(polling.next(after: failure, elapsed: .seconds(590)) == .poll(after: .seconds(10)))
        #expect(polling.next(after: failure, elapsed: .seconds(600)) == .expired)
    }

    @Test func `Honors Retry-After while polling for a device sign-in`() {
        var polling = DevicePolling(Self.authorization)
        let step = polling.next(after: .unavailable(status: 429, retryAfter: .seconds(90)), elapsed: .seconds(5))
        #expect(step == .poll(after: .seconds(90)))
    }

    @Test(
        arguments: [.oauthError("access_denied"), .oauthError("invalid_grant"), .misconfigured("no such client")]
            as [AuthorityError])
    func `Ends the polling of a device sign-in after a refusal`(failure: AuthorityError) {
        var polling = DevicePolling(Self.authorization)
        #expect(polling.next(after: failure, elapsed: .seconds(5)) == .fail(failure))
    }

    @Test func `Ends the polling of a device sign-in when the code expires`() {
        var polling = DevicePolling(Self.authorization)
        #expect(polling.next(after: .oauthError("expired_token"), elapsed: .seconds(5)) == .expired)
    }
}
