@testable import EndToEndSupport
import Testing

/// A service that no longer renews a session, and does not reject its tokens either. `SessionDecisionTests` and
/// `RefusedRenewalTests` of AccountKit have the tables.
@Suite(.queued)
struct RefusedRenewalTests {
    private static let faults = [
        Fault(path: "/oauth/token", status: 400, body: #"{"error":"interaction_required"}"#),
        Fault(path: "/oauth/token", status: 400, headers: ["Content-Type": "application/json"], body: ""),
        Fault(path: "/oauth/token", status: 404, body: "not found"),
    ]

    @Test(arguments: faults.indices)
    func `Keeps a session that is no longer renewed, and says how to sign in again`(index: Int) async throws {
        try await SignedInUser.run { user in
            let archive = try user.container.entry(user.container.archive)
            let later = try await WrongClock(in: user.container).tool(user.account, ahead: 86_400)
            try await user.server.setFaults(Self.faults[index])
            let advice = "account login"

            let token = try await later("token")
            #expect(token.exitCode == 77 && token.output == "", "\(token)")
            #expect(token.errors.contains("the service no longer renews this session"))
            #expect(token.errors.contains("Sign in again with `\(advice)"), "\(token)")
            let json = try await later("whoami", "--max-age", "0", "--json")
            let report = try json.document()
            #expect(json.exitCode == 0 && report.state == "unverified" && report.reason == "renewalRefused", "\(json)")
            #expect(report.account?.username == "alice")
            let text = try await later("whoami", "--max-age", "0")
            #expect(text.exitCode == 0 && text.output == "alice\n")
            #expect(
                text.errors.contains("the service no longer renews this session; sign in again with `\(advice)"),
                "\(text)")
            #expect(text.errors.contains("You are still signed in"))
            #expect(try await later("whoami", "--verify").exitCode == 77)
            // These commands read the record of the refusal, and send nothing.
            let count = try await user.server.log()["refreshes"]
            #expect(try await later("status", "--json").document().reason == "renewalRefused")
            let status = try await later("status")
            #expect(
                status.output.contains("The service no longer renews this session; sign in again with `\(advice)"),
                "\(status)")
            #expect(try await user.server.log()["refreshes"] == count)
            let doctor = try await later("doctor")
            let findings = doctor.output + doctor.errors
            #expect(findings.contains("no longer renews this session; sign in again"), "\(doctor)")

            #expect(try user.container.entry(user.container.archive) == archive)
            try await user.server.clearFaults()
            #expect(try await user.account("refresh").exitCode == 0, "a service may change its mind")
            #expect(try await user.account("status", "--json").document().reason != "renewalRefused")
        }
    }
}
