import AccountKit
import AccountSupport
import Testing

@testable import AccountHelpers

/// Changes to users of the kubeconfig.
struct KubeChangeTests {
    private func corrections(
        session: String? = nil, command: String = "/bin/sh", _ arguments: String..., namesCluster: Bool = true
    ) throws -> [String] {
        let user = KubeSetup.User(
            name: "account", command: command, arguments: ["kube-credential"] + arguments, namesCluster: namesCluster)
        return try KubeChange(tool: ["sh"], user: "account", session: session, store: nil)
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

    private static func entry(
        command: String = "sh", _ arguments: String = #""kube-credential""#,
        settings: String = #","env":null,"interactiveMode":"Never","provideClusterInfo":true"#, user: String = ""
    ) -> String {
        #"{"name":"account","user":{"exec":{"command":"\#(command)","args":[\#(arguments)],"#
            + #""apiVersion":"client.authentication.k8s.io/v1"\#(settings)}\#(user)}}"#
    }

    private static let entries: [(entry: String, isWritten: Bool)] = [
        (entry(), true), (entry(command: "/bin/sh"), true),
        (entry(#""kube-credential","--session=work","--store=file:""#), true),
        (entry(#""kube-credential","--store=file:","--session=work""#), false),
        (entry(#""kube-credential","--session","work""#), false),
        (entry(#""kube-credential","--id-token""#), false), (entry(#""-x","kube-credential""#), false),
        (entry(#""kube-credential",1"#), false), (entry(command: "/opt/other/sh"), false),
        (entry(command: "bin/sh"), false), (entry(command: "/bin/cat"), false),
        (entry(settings: #","env":null,"interactiveMode":"Never","provideClusterInfo":false"#), false),
        (entry(settings: #","interactiveMode":"Always","provideClusterInfo":true"#), false),
        (
            entry(settings: #","env":[{"name":"A","value":"b"}],"interactiveMode":"Never","provideClusterInfo":true"#),
            false
        ),
        (entry(settings: #","installHint":"x","interactiveMode":"Never","provideClusterInfo":true"#), false),
        (entry(user: #","client-certificate-data":"DATA+OMITTED""#), false), (entry(user: #","token":null"#), true),
        (#"{"name":"account","user":{"token":"x"}}"#, false), (#"{"name":"account"}"#, false),
    ]

    @Test(arguments: entries)
    func `Recognizes only the user that setup writes`(entry: String, isWritten: Bool) throws {
        let entry = try #require(JSONText(Array(entry.utf8)))
        #expect(KubeChange(tool: ["sh"], user: "account", session: nil, store: nil).isWritten(entry) == isWritten)
        let other = KubeChange(tool: ["sh"], user: "account", session: "home", store: nil)
        #expect(!other.isWritten(entry))
    }

    @Test func `Refuses to replace the session of an existing AccountKit entry`() throws {
        let error = #expect(throws: AccountError.self) { try corrections(session: "home", "--session=work") }
        #expect(error?.code == .misconfigured)
    }
}
