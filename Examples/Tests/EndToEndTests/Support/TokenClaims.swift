import Foundation

/// What a JSON Web Token says, such as its `aud` (RFC 7519, section 4.1); its signature is not looked at.
func claims(of token: String) throws -> [String: JSON] {
    let parts = token.split(separator: ".")
    guard parts.count == 3 else { throw Unexpected("not a JSON Web Token: \(token)") }
    var payload = parts[1].replacing("-", with: "+").replacing("_", with: "/")
    while !payload.count.isMultiple(of: 4) { payload += "=" }
    guard let data = Data(base64Encoded: String(payload)) else { throw Unexpected("not base64url: \(payload)") }
    return try JSONDecoder().decode([String: JSON].self, from: data)
}
