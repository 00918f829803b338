@testable import EndToEndSupport
import Testing

/// The response from a captive portal instead of the service.
enum CaptivePortal: CaseIterable, CustomTestStringConvertible {
    case page, redirect

    var testDescription: String { "by a \(self)" }

    var fault: Fault {
        switch self {
        case .page:
            Fault(
                path: "*", status: 200, headers: ["Content-Type": "text/html"], body: "<html>Sign in to Wi-Fi</html>")
        case .redirect: Fault(path: "*", status: 302, headers: ["Location": "http://portal.invalid/"])
        }
    }

    /// The part of a helper's message that reports the portal.
    static let reason = "(another server responded: "
}

extension Tool {
    /// Rejects the current token, as git does if a server rejects the token. The next command that prints the token
    /// refreshes it first.
    func refuseToken() async throws {
        let added = try await self("rule", "add", "https://refuses.example")
        guard added.exitCode == 0 else { throw Unexpected(added) }
        let refusal = "protocol=https\nhost=refuses.example\npassword=\(try await storedToken())\n\n"
        let outcome = try await self("git-credential", "erase", input: refusal)
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
    }
}
