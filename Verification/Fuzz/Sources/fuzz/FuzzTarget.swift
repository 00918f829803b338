@testable import AccountHTTP
import AccountKit
import Foundation
import HTTPTypes
import AccountCrypto

/// A parser of external bytes, and its guarantees for any input.
struct FuzzTarget: Sendable {
    let name: String
    let body: @Sendable ([UInt8]) -> Void
}

/// The function for the driver. A C function cannot capture it.
nonisolated(unsafe) var chosenBody: ([UInt8]) -> Void = { _ in }

/// Ends the process if a guarantee is violated. libFuzzer reports the violation and saves the bytes.
func promise(_ isKept: Bool, _ what: @autoclosure () -> String) {
    if !isKept { fatalError("a promise was broken: \(what())") }
}

/// The time of all responses.
let now = Date(timeIntervalSince1970: 1_800_000_000)

/// The token that was sent, which no response may reveal.
let sentToken = Secret("sent-token-4f1c9a7e02d8")

/// All contexts that may be known when a response arrives.
let allContexts: [SessionDecision.Context] = [true, false].flatMap { holds in
    [true, false].flatMap { isStored in
        [true, false].map { .init(holdsRefreshToken: holds, sentTokenIsStored: isStored, justRefreshed: $0) }
    }
}

/// A request for which a failure ends the session, with its context.
enum Clearing {
    case verification(SessionDecision.Context)
    case refresh
}

/// The requests for which a failure ends the session.
func clearings(on failure: AuthorityError) -> [Clearing] {
    var clearings = allContexts.compactMap { context -> Clearing? in
        if case .clear = SessionDecision.afterVerification(failure, context) { .verification(context) } else { nil }
    }
    if case .clear = SessionDecision.afterRefresh(failure) { clearings.append(.refresh) }
    return clearings
}

extension ServiceResponse {
    /// A response in the corpus format: three digits of status, lines of header fields, an empty line, the body.
    init(corpus bytes: [UInt8]) {
        var rest = bytes[...]
        func line() -> String? {
            guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
            defer { rest = rest[(end + 1)...] }
            return String(decoding: rest[..<end], as: UTF8.self)
        }
        let status = line().flatMap { Int($0) } ?? 200
        var head = HTTPResponse(status: .init(code: min(max(status, 100), 999)))
        while let line = line(), !line.isEmpty {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, let name = HTTPField.Name(String(parts[0])) else { continue }
            head.headerFields.append(HTTPField(name: name, value: String(parts[1])))
        }
        self.init(head: head, body: WipedBytes(rest), receivedAt: now)
    }
    /// A response with a single header field, once for each value.
    init(_ status: Int, _ name: HTTPField.Name, _ values: [String]) {
        var head = HTTPResponse(status: .init(code: status))
        head.headerFields[values: name] = values
        self.init(head: head, body: WipedBytes(), receivedAt: now)
    }
}
