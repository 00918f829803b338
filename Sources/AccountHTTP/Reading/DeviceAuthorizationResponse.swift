import AccountKit
import AccountSupport

extension ResponseParser {
    /// Parses a device authorization response (RFC 8628, section 3.2). The code and the address must be short and
    /// printable, because AccountKit shows them to the user.
    func deviceAuthorization(in response: ServiceResponse) throws(AuthorityError) -> DeviceAuthorization {
        let response = try responseObject(in: response)
        let object = response.members
        guard let deviceCode = response.secrets["device_code"],
            let userCode = object["user_code"]?.text, Self.isShowable(userCode, limit: 64),
            // Google uses an older name for `verification_uri`.
            let address = object["verification_uri"]?.string ?? object["verification_url"]?.string,
            Self.isAddress(address)
        else { throw .unclear("\(endpoint.name) sent no code, or no address to enter it at") }
        let complete = object["verification_uri_complete"]?.string ?? object["verification_url_complete"]?.string
        return DeviceAuthorization(
            deviceCode: deviceCode, userCode: userCode, verificationURI: address,
            verificationURIComplete: complete.flatMap { Self.isAddress($0) ? $0 : nil },
            lifetime: seconds(object["expires_in"]?.decimal?.rounded(.down), in: 1...86_400, otherwise: 600),
            interval: seconds(
                object["interval"]?.decimal?.rounded(.up),
                in: DeviceAuthorization.shortestInterval.components.seconds...300, otherwise: 5))
    }

    func seconds(_ value: Double?, in bounds: ClosedRange<Int64>, otherwise fallback: Int64) -> Duration {
        guard let seconds = value.flatMap({ Int64(exactly: $0) }) else { return .seconds(fallback) }
        return .seconds(min(max(seconds, bounds.lowerBound), bounds.upperBound))
    }

    private static func isShowable(_ text: String, limit: Int) -> Bool {
        !text.isEmpty && text.utf8.count <= limit && text.utf8.allSatisfy { 0x20...0x7E ~= $0 }
    }

    private static func isAddress(_ text: String) -> Bool {
        isShowable(text, limit: 2048) && !text.contains(" ")
            && ["https", "http"].contains(text.prefix { $0 != ":" }.lowercased()) && text.contains("://")
    }
}
