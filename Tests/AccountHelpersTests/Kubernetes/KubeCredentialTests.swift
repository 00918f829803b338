import AccountKit
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import AccountCommands
@testable import AccountHelpers

/// The protocol of client-go's credential plugins.
@Suite struct KubeCredentialTests {
    @Test func `Parses the credential request of kubectl`() throws {
        let info = try KubernetesExecInfo(
            """
            {"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","spec":{"cluster":{"server":\
            "https://k8s.example:6443","certificate-authority-data":"eA==","config":null},"interactive":false},"later":1}
            """)
        #expect(info.apiVersion == "client.authentication.k8s.io/v1beta1")
        #expect(info.spec?.cluster?.server == "https://k8s.example:6443")
        let short = try KubernetesExecInfo(#"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential"}"#)
        #expect(short.spec == nil)
        let empty = try KubernetesExecInfo(
            #"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"interactive":true}}"#)
        #expect(empty.spec?.cluster == nil)
    }

    @Test(arguments: [
        "", "null", "[]", "{}", "x", #"{"kind":"ExecCredential"}"#, #"{"apiVersion":1,"kind":"ExecCredential"}"#,
        #"{"apiVersion":"client.authentication.k8s.io/v1","kind":"Config"}"#,
        #"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"cluster":{"server":1}}}"#,
    ])
    func `Rejects an invalid credential request of kubectl`(text: String) {
        let error = #expect(throws: AccountError.self) { try KubernetesExecInfo(text) }
        #expect(error?.code == .invalidArgument)
    }

    @Test(arguments: [
        ("", false), (#","insecure-skip-tls-verify":false"#, false), (#","insecure-skip-tls-verify":true"#, true),
    ])
    func `Refuses a cluster whose certificate kubectl does not verify`(member: String, isRefused: Bool) throws {
        let text =
            #"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"cluster":"#
            + #"{"server":"https://k8s.example:6443"\#(member)}}}"#
        let cluster = try #require(try KubernetesExecInfo(text).spec?.cluster)
        #expect(cluster.server == "https://k8s.example:6443")
        if isRefused {
            let error = #expect(throws: AccountError.self) { try cluster.checkVerification() }
            #expect(error?.code == .misconfigured && error?.hint?.contains("certificate-authority") == true)
        } else {
            try cluster.checkVerification()
        }
    }

    @Test func `Accepts a kubectl API version with or without its group`() throws {
        #expect(try KubernetesAPIVersion(named: "client.authentication.k8s.io/v1") == .v1)
        #expect(try KubernetesAPIVersion(named: "v1beta1") == .v1beta1)
        for name in ["", "v2", "v1alpha1", "example.com/v1", "client.authentication.k8s.io/v1alpha1", "V1"] {
            #expect(throws: AccountError.self, "\(name)") { try KubernetesAPIVersion(named: name) }
        }
    }

    @Test(arguments: [
        (KubernetesAPIVersion.v1, #"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","#),
        (.v1beta1, #"{"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential","#),
    ])
    func `Replies to kubectl in the API version of the request`(version: KubernetesAPIVersion, start: String) throws {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        func text(_ expiresAt: Date?) throws -> String {
            let token = HelperToken(token: Secret("t0ken"), username: nil, expiresAt: expiresAt)
            return String(
                decoding: try encoder.encode(KubernetesExecCredential(token, version: version)), as: UTF8.self)
        }
        #expect(try text(nil) == start + #""status":{"token":"t0ken"}}"#)
        #expect(
            try text(Date(timeIntervalSince1970: 1_800_000_000))
                == start + #""status":{"expirationTimestamp":"2027-01-15T08:00:00Z","token":"t0ken"}}"#)
    }
}
