@testable import AccountHTTP
import AccountKit
import AccountSupport
import Foundation
import HTTPTypes

let responseTargets = [
    FuzzTarget(name: "token-response", body: { readTokenResponse($0) }),
    FuzzTarget(name: "discovery", body: { readDiscovery($0) }),
    FuzzTarget(name: "user-info", body: { readUserInfo($0) }),
    FuzzTarget(name: "challenge", body: { readChallenges($0) }),
]

/// The failure of a parser, which reveals nothing that was sent.
private func failure<Result>(_ body: () throws(AuthorityError) -> Result) -> (Result?, AuthorityError?) {
    do throws(AuthorityError) {
        return (try body(), nil)
    } catch {
        sentToken.withUnsafeBytes { token in
            promise(!"\(error)".utf8.contains(token), "a failure does not repeat what was sent")
        }
        return (nil, error)
    }
}

extension Collection<UInt8> {
    fileprivate func contains(_ part: UnsafeRawBufferPointer) -> Bool { firstRange(of: part) != nil }
}

private func readTokenResponse(_ bytes: [UInt8]) {
    let response = ServiceResponse(corpus: bytes)
    promiseSameObject(response)
    for quirks in [ServiceQuirks.standard] + KnownService.all.map(\.quirks) {
        let reading = ResponseParser(.token, sent: [sentToken], quirks: quirks, isRefresh: true)
        let (credentials, refusal) = failure { () throws(AuthorityError) in
            try reading.credentials(in: response, for: "fuzz")
        }
        // The token endpoint is not asked for the user.
        if let refusal, case .clear = SessionDecision.afterRefresh(refusal) {
            promise(
                isOAuthError(response, quirks),
                "only a well-formed OAuth error ends a session, but this is not one: \(refusal)")
        }
        if let credentials {
            promise((200..<300).contains(response.status), "only a successful response has tokens")
            credentials.accessToken.withUnsafeBytes { promise(ResponseParser.isToken($0), "the token can be sent") }
            promise(credentials.tokenType == "Bearer", "the token is a Bearer token")
            promise(credentials.issuedAt == now, "the token was received with the response")
            if let expiry = credentials.expiresAt {
                promise(expiry > now && expiry <= now.addingTimeInterval(10 * 365 * 86_400), "an expiry is plausible")
            }
            promiseRoundTrip(of: Account(id: "1", credentials: credentials))
        }
        let (_, refused) = failure { () throws(AuthorityError) in
            try ResponseParser(.deviceAuthorization, sent: [sentToken], quirks: quirks).deviceAuthorization(
                in: response)
        }
        if let refused, case .clear = SessionDecision.afterRefresh(refused) {
            promise(isOAuthError(response, quirks), "only a well-formed OAuth error ends a session")
        }
    }
}

/// Checks that the reader of secrets returns the same members as the reader of values.
private func promiseSameObject(_ response: ServiceResponse) {
    let names: Set<String> = ["access_token", "refresh_token", "id_token"]
    let decoded = JSONValue.object(from: response.body)
    guard let object = ResponseObject(response.body, secrets: names) else {
        promise(decoded == nil, "the reader of secrets accepts what the reader of values accepts")
        return
    }
    guard let decoded else { return }
    promise(Set(object.members.keys).union(["error"]) == Set(decoded.keys).union(["error"]), "the members are the same")
    for (name, value) in decoded where name != "error" {
        if names.contains(name), let text = value.string {
            // A value replaces invalid UTF-8, and a secret is revealed with the same replacements.
            promise((object.secrets[name]?.reveal() ?? "") == text, "\(name) is the same")
        } else if let secret = object.secrets[name] {
            promise(
                value.number != nil && secret.reveal().utf8.allSatisfy { 48...57 ~= $0 }, "\(name) is a whole number")
        } else {
            promise(object.members[name] == value, "\(name) is the same")
        }
    }
}

/// Whether a response is an error according to RFC 6749, section 5.2, determined by another JSON parser and by the
/// status.
private func isOAuthError(_ response: ServiceResponse, _ quirks: ServiceQuirks) -> Bool {
    if quirks.mayAnswerWithForms, response.mediaType == "application/x-www-form-urlencoded" { return true }
    guard quirks.errorStatuses.union([200, 201, 204]).contains(response.status),
        let object = try? JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any],
        let code = object["error"] as? String
    else { return false }
    // Another parser may use the last of two members or accept UTF-16. A definite error occurs once, in UTF-8.
    guard !response.body.contains(0) else { return false }
    return code == "invalid_grant"
        || quirks.errors.contains { $0.code == code && $0.meaning == "invalid_grant" && $0.request != .signIn }
}

private func readDiscovery(_ bytes: [UInt8]) {
    let response = ServiceResponse(corpus: bytes)
    for issuer in ["https://login.example.com", "http://127.0.0.1:8080/tenant"] {
        guard let issuer = try? Issuer(issuer) else { fatalError("the issuer is well-formed") }
        let (metadata, refusal) = failure { () throws(AuthorityError) in
            try Discovery(issuer: issuer).document(in: response)
        }
        if let refusal { promise(clearings(on: refusal).isEmpty, "a discovery document ends no session: \(refusal)") }
        for url in (metadata?.urls ?? [:]).values {
            promise(url.scheme == "https" || issuer.url.scheme == "http" && url.isLoopback, "\(url) is encrypted")
            promise((try? ServiceURL(url.description)) == url, "\(url) is read as it is written")
            promise(url.description.utf8.allSatisfy { 0x21...0x7E ~= $0 }, "\(url) is visible ASCII")
        }
    }
}

private func readUserInfo(_ bytes: [UInt8]) {
    let response = ServiceResponse(corpus: bytes)
    for quirks in [ServiceQuirks.standard] + KnownService.all.map(\.quirks) {
        let (identity, refusal) = failure { () throws(AuthorityError) in
            try ResponseParser(.userInfo, sent: [sentToken], quirks: quirks).identity(in: response)
        }
        if let refusal, !clearings(on: refusal).isEmpty {
            let isSaid = response.head.headerFields[values: .wwwAuthenticate].contains { isRefusal($0) }
            let isDocumented = quirks.deadTokenResponse?.status == response.status
            promise(
                response.status == 401 && isSaid || isDocumented,
                "only 401 with a Bearer challenge, or the documented response of a service, ends a session")
            promise(
                clearings(on: refusal).allSatisfy {
                    if case .verification(let context) = $0 {
                        context.sentTokenIsStored && !context.holdsRefreshToken
                    } else {
                        false
                    }
                },
                "a session ends only if it cannot get a new token")
        }
        guard let identity else { continue }
        promise(!identity.id.isEmpty, "a user has an identifier")
        let account = Account(
            id: identity.id, username: identity.username,
            credentials: Credentials(accessToken: sentToken, issuedAt: now), profile: identity.profile)
        promiseRoundTrip(of: account)
        var shown = ""
        dump(account, to: &shown)
        sentToken.withUnsafeBytes { token in
            promise(!shown.utf8.contains(token), "the user's claims do not repeat the token")
        }
    }
}

/// Whether a field contains the words of a rejection.
private func isRefusal(_ field: String) -> Bool {
    let text = field.replacing("\\", with: "")
    return text.lowercased().contains("bearer") && text.lowercased().contains("error") && text.contains("invalid_token")
}

private func readChallenges(_ bytes: [UInt8]) {
    let fields = bytes.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
    let challenges = AuthenticationChallenge.challenges(in: fields)
    promise(challenges.count <= 16, "at most 16 challenges")
    promise(
        AuthenticationChallenge.challenges(in: challenges.map(\.written)) == challenges,
        "read, written and read is the same"
    )
    if challenges.contains(where: { $0.scheme == "bearer" && $0.parameters["error"] == "invalid_token" }) {
        promise(fields.contains { isRefusal($0) }, "a refusal comes from a challenge")
    }
    let response = ServiceResponse(401, .wwwAuthenticate, fields)
    let (_, refusal) = failure { () throws(AuthorityError) in
        try ResponseParser(.userInfo, sent: [sentToken]).object(in: response)
    }
    if let refusal, !clearings(on: refusal).isEmpty {
        // HTTP parsers reject a field with an invalid character. A response contains a space instead.
        let taken = AuthenticationChallenge.challenges(in: response.head.headerFields[values: .wwwAuthenticate])
        promise(taken.contains { $0.parameters["error"] == "invalid_token" }, "only a refused token ends a session")
    }
}

extension AuthenticationChallenge {
    fileprivate var written: String {
        if let token68 { return "\(scheme) \(token68)" }
        let list = parameters.map { name, value in
            "\(name)=\"\(value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
        }
        return list.isEmpty ? scheme : "\(scheme) \(list.joined(separator: ", "))"
    }
}
