@testable import AccountHTTP
import AccountKit
import Foundation

let replyTargets = [
    FuzzTarget(name: "token-reply", body: { readTokenReply($0) }),
    FuzzTarget(name: "discovery", body: { readDiscovery($0) }),
    FuzzTarget(name: "user-info", body: { readUserInfo($0) }),
    FuzzTarget(name: "challenge", body: { readChallenges($0) }),
]

/// The signal that reading ended with, which shows nothing of what was sent.
private func signal<Result>(_ body: () throws(AuthoritySignal) -> Result) -> (Result?, AuthoritySignal?) {
    do throws(AuthoritySignal) {
        return (try body(), nil)
    } catch {
        sentToken.withUnsafeBytes { token in
            promise(!"\(error)".utf8.contains(token), "a signal does not repeat what was sent")
        }
        return (nil, error)
    }
}

extension Collection<UInt8> {
    fileprivate func contains(_ part: UnsafeRawBufferPointer) -> Bool { firstRange(of: part) != nil }
}

private func readTokenReply(_ bytes: [UInt8]) {
    let reply = HTTPReply(corpus: bytes)
    promiseSameObject(reply)
    for dialect in [ServiceDialect.standard] + KnownService.all.map(\.dialect) {
        let reading = ReplyReading(.token, sent: [sentToken], dialect: dialect, isRefresh: true)
        let (credentials, refusal) = signal { () throws(AuthoritySignal) in
            try reading.credentials(in: reply, for: "fuzz")
        }
        // Nobody asks the token endpoint whose a token is.
        if let refusal, let clearing = clearings(on: refusal).first(where: { $0.request != .verify }) {
            promise(clearing.request == .refresh, "the token endpoint ends sessions when a refresh is refused, only")
            promise(clearing.circumstances.sentTokenIsStored, "only the stored token's refusal counts")
            promise(
                isOAuthError(reply, dialect),
                "only a well-formed error of OAuth ends a session, and this is none: \(refusal)")
        }
        if let credentials {
            promise((200..<300).contains(reply.status), "tokens come with success")
            credentials.accessToken.withUnsafeBytes { promise(ReplyReading.isToken($0), "the token can be sent") }
            promise(credentials.tokenType == "Bearer", "the token is a Bearer token")
            promise(credentials.issuedAt == now, "it came when it came")
            if let expiry = credentials.expiresAt {
                promise(expiry > now && expiry <= now.addingTimeInterval(10 * 365 * 86_400), "an expiry is believable")
            }
            promiseRoundTrip(of: Account(id: "1", credentials: credentials))
        }
        let (_, refused) = signal { () throws(AuthoritySignal) in
            try ReplyReading(.deviceAuthorization, sent: [sentToken], dialect: dialect).deviceAuthorization(in: reply)
        }
        if let refused, clearings(on: refused).contains(where: { $0.request != .verify }) {
            promise(isOAuthError(reply, dialect), "as for tokens")
        }
    }
}

/// Reading the secrets beside the decoder gives what the decoder would have made of them.
private func promiseSameObject(_ reply: HTTPReply) {
    let names: Set<String> = ["access_token", "refresh_token", "id_token"]
    let decoded = JSONValue.object(from: reply.body)
    guard let object = ReplyObject(reply.body, secrets: names) else {
        // The decoder also takes a comma after the last member, which is not JSON.
        let end = reply.body.reversed().filter { !" \t\r\n\0".utf8.contains($0) }.prefix(2)
        // And it does not look at the second of two members, where another parser does.
        let isJSON = (try? JSONSerialization.jsonObject(with: Data(reply.body))) != nil
        promise(decoded == nil || !isJSON || end.elementsEqual("},".utf8), "what the decoder takes is taken")
        return
    }
    guard let decoded else { return }
    promise(Set(object.members.keys).union(["error"]) == Set(decoded.keys).union(["error"]), "the members are the same")
    for (name, value) in decoded where name != "error" {
        if names.contains(name), let text = value.string {
            // What is not UTF-8 the decoder replaces, and a secret shows replaced.
            promise((object.secrets[name]?.reveal() ?? "") == text, "\(name) is the same")
        } else {
            promise(object.members[name] == value, "\(name) is the same")
        }
    }
}

/// What RFC 6749, section 5.2, calls an error, found out in another way: by another parser of JSON, and by status.
private func isOAuthError(_ reply: HTTPReply, _ dialect: ServiceDialect) -> Bool {
    guard dialect.errorStatuses.union([200, 201, 204]).contains(reply.status),
        let object = try? JSONSerialization.jsonObject(with: Data(reply.body)) as? [String: Any],
        let code = object["error"] as? String
    else { return false }
    // Another parser may take the last of two members, or UTF-16; an error is said once, in UTF-8.
    guard !reply.body.contains(0) else { return false }
    return code == "invalid_grant" || dialect.refreshErrorCodes[code] == .invalidGrant
}

private func readDiscovery(_ bytes: [UInt8]) {
    let reply = HTTPReply(corpus: bytes)
    for issuer in ["https://login.example.com", "http://127.0.0.1:8080/tenant"] {
        guard let issuer = try? Issuer(issuer) else { fatalError("the issuer is well-formed") }
        let (metadata, refusal) = signal { () throws(AuthoritySignal) in
            try Discovery(issuer: issuer).document(in: reply)
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
    let reply = HTTPReply(corpus: bytes)
    for dialect in [ServiceDialect.standard] + KnownService.all.map(\.dialect) {
        let (identity, refusal) = signal { () throws(AuthoritySignal) in
            try ReplyReading(.userInfo, sent: [sentToken], dialect: dialect).identity(in: reply)
        }
        if let refusal, !clearings(on: refusal).isEmpty {
            let isSaid = reply.values(of: "WWW-Authenticate").contains { isRefusal($0) }
            promise(reply.status == 401 && isSaid, "only 401 with a Bearer challenge ends a session")
            promise(
                clearings(on: refusal).allSatisfy { $0.request == .verify && !$0.circumstances.holdsRefreshToken },
                "only where no new token is to be had")
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
            promise(!shown.utf8.contains(token), "what a service says of a user does not repeat the token")
        }
    }
}

/// Whether the words of a refusal are in a field at all, between whatever else.
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
        promise(fields.contains { isRefusal($0) }, "a refusal is not made out of nothing")
    }
    let reply = HTTPReply(
        status: 401, headers: fields.map { .init(name: "WWW-Authenticate", value: $0) }, body: [], receivedAt: now)
    let (_, refusal) = signal { () throws(AuthoritySignal) in
        try ReplyReading(.userInfo, sent: [sentToken]).object(in: reply)
    }
    if let refusal, !clearings(on: refusal).isEmpty {
        promise(
            challenges.contains { $0.parameters["error"] == "invalid_token" }, "only a refused token ends a session")
    }
}

extension AuthenticationChallenge {
    /// The challenge as a header field.
    fileprivate var written: String {
        if let token68 { return "\(scheme) \(token68)" }
        let list = parameters.map { name, value in
            "\(name)=\"\(value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
        }
        return list.isEmpty ? scheme : "\(scheme) \(list.joined(separator: ", "))"
    }
}
