/// Rules for values that an app or a user adds to the requests of a sign-in.
package enum RequestRules {
    /// The parameters that a sign-in sets itself, in lower case, each with the name of its option if there is one.
    /// Another value would remove the protection of the sign-in.
    package static let reservedParameters: [String: String?] = [
        "audience": "audience", "client_assertion": nil, "client_assertion_type": nil, "client_id": "client ID",
        "client_secret": "client secret", "code": nil, "code_challenge": nil, "code_challenge_method": nil,
        "code_verifier": nil, "device_code": nil, "grant_type": nil, "nonce": nil, "password": nil,
        "redirect_uri": "redirect URI", "refresh_token": nil, "request": nil, "request_uri": nil,
        "resource": "resources", "response_mode": nil, "response_type": nil, "scope": "scopes", "state": nil,
        "username": nil,
    ]

    /// Returns whether a text is an absolute URI without a fragment (RFC 8707, section 2; RFC 3986, section 4.3).
    package static func isResource(_ text: String) -> Bool {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let first = parts[0].first, first.isASCII, first.isLetter, !parts[1].isEmpty else {
            return false
        }
        return parts[0].allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
            && text.utf8.allSatisfy { 0x21...0x7E ~= $0 && !"#\"<>\\^`{|}".utf8.contains($0) }
    }

    package static func isAudience(_ text: String) -> Bool {
        !text.isEmpty && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }

    /// Returns whether a text is a scope: visible ASCII except `"` and `\` (RFC 6749, section 3.3).
    package static func isScope(_ text: some StringProtocol) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
    }
}
