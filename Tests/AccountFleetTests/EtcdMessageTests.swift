import AccountKit
import Foundation
import Testing

@testable import AccountFleet
import AccountSupport

@Suite struct EtcdMessageTests {
    private func object(_ json: String) throws -> JSONObject { try #require(JSONObject.read(Array(json.utf8))) }

    @Test func `Escapes an etcd user name and password in JSON`() throws {
        let call = EtcdCall.authenticate(.init(name: "a\"b", password: Secret("\\\u{1}\né")))
        let json = try JSONSerialization.jsonObject(with: Data(call.json.utf8)) as? [String: String]
        #expect(json == ["name": "a\"b", "password": "\\\u{1}\né"])
    }

    @Test func `Does not treat a plain-text refusal by etcd as unreachable`() {
        let text = "CommonName of client sending a request against gateway will be ignored and not used as expected\n"
        #expect(
            AccountError(EtcdFailure(status: 400, text: text), store: "etcds://host/x").description.contains(
                "use a certificate whose subject has no Common Name"))
        #expect(EtcdFailure(status: 502, text: "Bad Gateway").code == nil, "the next node may respond")
    }

    @Test(arguments: [
        (7, "etcdserver: permission denied", AccountError.Code.misconfigured),
        (3, "etcdserver: user name is empty", .misconfigured),
        (3, "etcdserver: authentication failed, invalid user ID or password", .misconfigured),
        (3, "etcdserver: request is too large", .tooLarge),
        (8, "grpc: received message larger than max (2600010 vs. 2097152)", .tooLarge),
        (8, "etcdserver: mvcc: database space exceeded", .inaccessible),
    ])
    func mapsErrorsToCodes(_ code: Int, _ text: String, _ expected: AccountError.Code) throws {
        let failure = EtcdFailure(try object(#"{"error":"\#(text)","message":"\#(text)","code":\#(code)}"#))
        #expect(failure.code != nil)
        #expect(AccountError(failure, store: "etcd://a").code == expected)
    }

    @Test(arguments: [
        (14, "etcdserver: leader changed"), (14, "etcdserver: request timed out"), (8, "etcdserver: too many requests"),
        (4, "context deadline exceeded"), (2, "anything"),
    ])
    func errorsUnrelatedToTheRequestHaveNoCode(_ code: Int, _ text: String) throws {
        #expect(EtcdFailure(try object(#"{"message":"\#(text)","code":\#(code)}"#)).code == nil)
    }

    @Test func `Keeps a message of etcd on one line of at most 200 characters`() throws {
        let text = #"etcdserver: no\n\u001b[2Jaccount: call us"# + String(repeating: "x", count: 300)
        let failure = EtcdFailure(try object(#"{"message":"\#(text)","code":9}"#))
        #expect(failure.text.hasPrefix("etcdserver: no\u{FFFD}\u{FFFD}[2Jaccount: call us"))
        #expect(failure.text.count == 200)
        #expect(!EtcdFailure(cancelReason: "a\nb").text.contains("\n"))
    }

    @Test(arguments: [
        ("process 7 on build-1.example.com", true), ("process 7 on another machine", true),
        ("Your account was stolen: call +1 555", false), ("process 7 on fire: call +1 555", false),
        ("process seven on build-1", false), ("process 7 on build-1\nYour account was stolen", false),
        ("process 7 on \u{1B}[2J", false), ("process 7 on " + String(repeating: "a", count: 65), false),
        ("process 7 on ", false), ("", false),
    ])
    func `Drops a forged lock holder unless it names a process and a machine`(value: String, isShown: Bool) {
        let holder = EtcdKeyValue(key: "k", value: Array(value.utf8), createRevision: 1, modRevision: 1, lease: 0)
        #expect(holder.holderName == (isShown ? value : nil))
    }

    @Test func `Recognizes its own value of a lock`() {
        let holder = EtcdKeyValue(key: "k", value: EtcdLock.value, createRevision: 1, modRevision: 1, lease: 0)
        #expect(holder.holderName?.hasPrefix("process \(ProcessInfo.processInfo.processIdentifier) on ") == true)
    }

    @Test func `Encodes and decodes a replica unchanged, and rejects a damaged replica`() throws {
        let content = ReplicaContent(
            location: "etcd://a:1/x", revision: 0x0102_0304_0506_0708, date: Date(timeIntervalSince1970: 1_700_000_000),
            bytes: [1, 2, 3])
        #expect(ReplicaContent(content.encoded) == content)
        for count in 0..<content.encoded.count - 3 {
            #expect(ReplicaContent(Array(content.encoded.prefix(count))) == nil)
        }
        #expect(ReplicaContent(nil) == nil)
        #expect(ReplicaContent([UInt8](repeating: 0xFF, count: 100)) == nil)
    }
}
