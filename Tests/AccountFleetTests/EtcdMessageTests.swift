import AccountKit
import Foundation
import Testing

@testable import AccountFleet
import AccountSupport

@Suite struct EtcdMessageTests {
    private func object(_ json: String) throws -> JSONObject { try #require(JSONObject.read(Array(json.utf8))) }

    @Test func `Encodes an etcd transaction in the format of the gateway`() throws {
        let call = EtcdCall.transaction(
            if: [.modRevision("a", 7), .createRevision("b", 0)],
            then: [.touch("b"), .put("a", [1, 2], lease: 9), .delete("c")], else: [.range("a")])
        let json = try #require(
            try JSONSerialization.jsonObject(with: Data(call.json.utf8)) as? [String: [[String: Any]]])
        #expect(call.path == "/v3/kv/txn")
        #expect(
            json["compare"] as? [[String: String]] == [
                ["key": "YQ==", "target": "MOD", "result": "EQUAL", "mod_revision": "7"],
                ["key": "Yg==", "target": "CREATE", "result": "EQUAL", "create_revision": "0"],
            ])
        let success = try #require(json["success"])
        #expect(success[1]["request_put"] as? [String: String] == ["key": "YQ==", "value": "AQI=", "lease": "9"])
        #expect(success[2]["request_delete_range"] as? [String: String] == ["key": "Yw=="])
        #expect((success[0]["request_put"] as? [String: Any])?["ignore_value"] as? Bool == true)
        #expect(json["failure"]?[0]["request_range"] as? [String: String] == ["key": "YQ=="])
    }

    @Test func `Escapes an etcd user name and password in JSON`() throws {
        let call = EtcdCall.authenticate(.init(name: "a\"b", password: Secret("\\\u{1}\né")))
        let json = try JSONSerialization.jsonObject(with: Data(call.json.utf8)) as? [String: String]
        #expect(json == ["name": "a\"b", "password": "\\\u{1}\né"])
    }

    @Test func `Reads omitted fields of an etcd response as zero or empty`() throws {
        let value = EtcdKeyValue(
            try object(#"{"kvs":{"key":"YQ==","create_revision":"2","mod_revision":"9007199254740993"}}"#)["kvs"])
        #expect(
            value == EtcdKeyValue(key: "a", value: [], createRevision: 2, modRevision: 9_007_199_254_740_993, lease: 0))
    }

    @Test func `Decodes the response to an etcd transaction`() throws {
        let failed = try #require(
            EtcdTransactionResponse(
                try object(
                    #"""
                    {"header":{"revision":"4"},"responses":[
                    {"response_range":{"header":{"revision":"4"},"kvs":[{"key":"YQ==","mod_revision":"3","value":"eA=="}]}},
                    {"response_range":{"header":{"revision":"4"}}}]}
                    """#.replacing("\n", with: ""))))
        #expect(!failed.isSuccess)
        #expect(
            failed.ranges == [[EtcdKeyValue(key: "a", value: [120], createRevision: 0, modRevision: 3, lease: 0)], []])
        let success = try #require(
            EtcdTransactionResponse(
                try object(
                    #"{"header":{"revision":"5"},"succeeded":true,"responses":[{"response_put":{}}]}"#)))
        #expect(success.isSuccess && success.revision == 5 && success.ranges.isEmpty)
        #expect(EtcdTransactionResponse(try object(#"{"succeeded":true}"#)) == nil)
    }

    @Test func `Does not treat a plain-text refusal by etcd as unreachable`() {
        let text = "CommonName of client sending a request against gateway will be ignored and not used as expected\n"
        #expect(
            AccountError(EtcdFailure(status: 400, text: text), store: "etcds://host/x").description.contains(
                "use a certificate whose subject has no Common Name"))
        #expect(EtcdFailure(status: 502, text: "Bad Gateway").code == nil, "the next node may respond")
    }

    @Test func `Decodes the messages of an etcd watch`() throws {
        func message(_ json: String) throws -> EtcdWatchMessage { EtcdWatchMessage(try object(json)) }
        #expect(
            try message(#"{"result":{"header":{"revision":"5"},"created":true}}"#) == .progress(revision: 5))
        #expect(
            try message(
                #"{"result":{"header":{"revision":"9"},"events":[{"kv":{"key":"YQ==","mod_revision":"6"}},{"type":"DELETE","kv":{"key":"Yg==","mod_revision":"7"}}]}}"#
            )
                == .change([
                    EtcdEvent(key: "a", revision: 6, isRemoval: false),
                    EtcdEvent(key: "b", revision: 7, isRemoval: true),
                ]))
        #expect(
            try message(
                #"{"result":{"header":{"raft_term":"2"},"canceled":true,"compact_revision":"5"}}"#)
                == .compacted(revision: 5))
        let refused = try message(
            #"{"result":{"header":{"revision":"7"},"canceled":true,"cancel_reason":"rpc error: code = PermissionDenied desc = etcdserver: permission denied"}}"#
        )
        guard case .failure(let failure) = refused else {
            Issue.record("\(refused)")
            return
        }
        #expect(failure.code == .permissionDenied)
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

    @Test func `Encodes an etcd revision in eight bytes`() {
        #expect(ArchiveRevision(258).bytes == [0, 0, 0, 0, 0, 0, 1, 2])
        #expect(ArchiveRevision(.max).modRevision == .max)
        #expect(ArchiveRevision(bytes: [1]).modRevision == nil)
    }
}
