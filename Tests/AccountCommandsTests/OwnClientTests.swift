import AccountTesting
import Testing

@testable import AccountCommands
@testable import AccountKit

/// What the settings of a machine must name before it authenticates for a session in a shared store.
struct OwnClientTests {
    private static let issuer = "https://login.example.com"
    private static let key = ClientKeyFile(path: "/etc/key.pem")

    private static func account(_ change: (inout MachineGrant) -> Void = { _ in }) -> Account {
        var account = Account.machine(at: ManualClock().now)
        account.issuer = issuer
        var machine = MachineGrant()
        change(&machine)
        account.credentials.machine = machine
        return account
    }

    private static let withKey = account { $0.key = ClientKeyFile(path: "/home/mallory/key.pem", id: "k1") }
    private static let withAudience = account {
        $0.key = ClientKeyFile(path: "/etc/key.pem", audience: "https://evil.example")
    }
    private static let withFile = account { $0.workload = ["file", "/etc/shadow"] }
    private static let withVariable = account { $0.workload = ["env", "AWS_SECRET_ACCESS_KEY"] }

    private static let withProgram = account { $0.workload = ["command", "/home/mallory/program"] }

    private static let rows: [(Account, OwnClient, [String])] = [
        (account(), OwnClient(issuer: issuer), []), (account(), OwnClient(issuer: issuer + "/"), []),
        (account(), OwnClient(), ["ISSUER"]), (account(), OwnClient(issuer: "https://other.example"), ["ISSUER"]),
        (withKey, OwnClient(issuer: issuer, key: key), []), (withKey, OwnClient(issuer: issuer), ["CLIENT_KEY"]),
        (withKey, OwnClient(key: key), ["ISSUER"]), (withKey, OwnClient(), ["ISSUER", "CLIENT_KEY"]),
        (withAudience, OwnClient(issuer: issuer, key: key), ["CLIENT_ASSERTION_AUDIENCE"]),
        (withFile, OwnClient(issuer: issuer), ["WORKLOAD"]), (withVariable, OwnClient(issuer: issuer), ["WORKLOAD"]),
        (withProgram, OwnClient(issuer: issuer), ["WORKLOAD"]),
        (withFile, OwnClient(issuer: issuer, workload: ["file", "/run/token"]), []),
    ]

    @Test(arguments: rows)
    func `An archive in a shared store chooses no key, service or source`(
        account: Account, own: OwnClient, missing: [String]
    ) throws {
        #expect(own.missing(for: account).map(\.variable) == missing)
        var service = AccountService(of: account, remembered: nil)
        service.clientSecret = Secret("s3cret")
        let limited = own.limiting(service, of: account)
        let isComplete = missing.isEmpty
        #expect(limited.clientKeyPath == (isComplete && account.credentials.machine?.key != nil ? Self.key.path : nil))
        #expect(limited.clientAssertionAudience == nil)
        #expect(limited.workload == (isComplete && account.credentials.machine?.workload != nil ? own.workload : nil))
        #expect((limited.clientSecret == nil) == !isComplete)
    }

    @Test func `Does not concern the session of a user`() {
        let alice = Account.testing(at: ManualClock().now)
        #expect(OwnClient().missing(for: alice).isEmpty)
    }

    @Test func `Settings keep the client of a sign-in`() throws {
        var machine = MachineGrant()
        machine.key = ClientKeyFile(path: "/etc/key.pem", id: "k1", audience: "urn:a")
        machine.workload = ["env", "TOKEN"]
        let settings = ClientSettings(machine)
        #expect(settings.key == machine.key && settings.workload == machine.workload)
    }
}
