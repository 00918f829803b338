import AccountKit
import FoundationEssentials
import HTTPTypes
import AccountCrypto
import Testing

@testable import AccountHTTP

/// A clock with a fixed time.
struct FixedClock: WallClock {
    var now = Date(timeIntervalSince1970: 1_800_000_000)
}

/// The token or password of the requests. It must never appear in an error.
let canary = "CANARY-f3b1c0de.5e7.x_y~z"

extension ServiceResponse {
    /// A response with some header fields and a body.
    init(
        _ status: Int, _ headers: KeyValuePairs<String, String> = [:], _ body: String = "",
        at date: Date = FixedClock().now
    ) {
        var head = HTTPResponse(status: .init(code: status))
        for (name, value) in headers {
            guard let name = HTTPField.Name(name) else { preconditionFailure("\(name) is not the name of a field") }
            head.headerFields.append(HTTPField(name: name, value: value))
        }
        self.init(head: head, body: WipedBytes(body.utf8), receivedAt: date)
    }

    /// A response with a JSON body.
    static func json(_ status: Int, _ body: String) -> ServiceResponse {
        ServiceResponse(status, ["Content-Type": "application/json;charset=UTF-8"], body)
    }
}

func failure(_ body: () throws -> some Any) -> AuthorityError? {
    do {
        _ = try body()
        return nil
    } catch {
        return failure(from: error)
    }
}

func asyncFailure(_ body: () async throws -> some Any) async -> AuthorityError? {
    do {
        _ = try await body()
        return nil
    } catch {
        return failure(from: error)
    }
}

private func failure(from error: any Error) -> AuthorityError? {
    if !(error is AuthorityError) { Issue.record(error) }
    return error as? AuthorityError
}

/// A failure without its message, for tests of its kind.
func kind(_ failure: AuthorityError?) -> AuthorityError? {
    switch failure {
    case .noResponse(let failure): .noResponse(.init(failure.kind))
    case .untrustedTLS: .untrustedTLS("…")
    case .oauthError(let code, _): .oauthError(code)
    case .intercepted: .intercepted("…")
    case .unclear: .unclear("…")
    case .misconfigured: .misconfigured("…")
    case .signInRefused: .signInRefused("…")
    default: failure
    }
}

/// A JWT with the given payload and a meaningless signature.
func jsonWebToken(_ payload: String) -> Secret {
    func base64URL(_ text: String) -> String {
        Data(text.utf8).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
    return Secret("\(base64URL(#"{"alg":"none"}"#)).\(base64URL(payload)).c2lnbmF0dXJl")
}
