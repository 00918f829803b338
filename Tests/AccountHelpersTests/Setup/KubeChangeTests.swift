import AccountKit
import Testing

@testable import AccountHelpers

/// Changes to users of the kubeconfig.
struct KubeChangeTests {
    private func corrections(
        session: String? = nil, command: String = "/bin/sh", _ arguments: String..., namesCluster: Bool = true
    ) throws -> [String] {
        let user = KubeSetup.User(
            name: "account", command: command, arguments: ["kube-credential"] + arguments, namesCluster: namesCluster)
        return try KubeChange(tool: ["sh"], user: "account", session: session, store: nil, hidden: [])
            .corrections(of: user)
    }

    @Test func `Keeps the path and the arguments of an existing AccountKit entry`() throws {
        #expect(try corrections("--session", "work", "--id-token") == [])
        #expect(try corrections(session: "work", "--session", "work") == [])
        #expect(try corrections("--any-cluster", namesCluster: false) == [])
    }

    @Test func `Corrects only the broken part of an existing AccountKit entry`() throws {
        #expect(try corrections(command: "/nonexistent/sh") == ["--exec-command=sh"])
        #expect(try corrections("--id-token", namesCluster: false) == ["--exec-provide-cluster-info"])
    }

    @Test func `Refuses to replace the session of an existing AccountKit entry`() throws {
        let error = #expect(throws: AccountError.self) { try corrections(session: "home", "--session=work") }
        #expect(error?.code == .misconfigured)
    }
}
