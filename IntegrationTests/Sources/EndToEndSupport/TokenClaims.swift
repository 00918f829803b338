import Foundation

/// The claims of a JSON Web Token, such as its `aud` (RFC 7519, section 4.1), without verifying its signature.
func claims(of token: String) throws -> [String: JSON] {
    let parts = token.split(separator: ".")
    guard parts.count == 3 else { throw Unexpected("not a JSON Web Token: \(token)") }
    var payload = parts[1].replacing("-", with: "+").replacing("_", with: "/")
    while !payload.count.isMultiple(of: 4) { payload += "=" }
    guard let data = Data(base64Encoded: String(payload)) else { throw Unexpected("not base64url: \(payload)") }
    return try JSONDecoder().decode([String: JSON].self, from: data)
}

extension ExampleServer {
    static let aliceID = "u-5f0c2a9b7d314e86"
    static let bobID = "u-c41e88d20b9f6a57"

    /// An ID token for alice that the server can send with a refresh. Its signature is invalid.
    ///
    /// - Parameters:
    ///   - end: The value of the `exp` claim.
    ///   - others: Claims that replace the correct claims.
    func idToken(
        until end: Date = .now.addingTimeInterval(3600), setting others: [String: JSON] = [:]
    ) throws -> String {
        let claims: [String: JSON] = [
            "iss": .text(issuer), "sub": .text(Self.aliceID), "aud": .text("account-cli"),
            "iat": .integer(Int(Date.now.timeIntervalSince1970)), "exp": .integer(Int(end.timeIntervalSince1970)),
        ]
        let payload = try JSONEncoder().encode(claims.merging(others) { $1 }).base64EncodedString()
        return "e30.\(payload.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")).c2ln"
    }
}
