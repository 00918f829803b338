import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A request to etcd's JSON gateway (etcd 3.4, `api_grpc_gateway`): bytes are Base64, 64-bit numbers are strings.
struct EtcdCall: Sendable, Hashable {
    var path: String
    var json: String

    /// The newest value of a key, confirmed by a quorum.
    static func range(_ key: String) -> EtcdCall {
        EtcdCall(path: "/v3/kv/range", json: #"{"key":\#(key.base64)}"#)
    }

    /// The keys that begin with a prefix, which ends with a slash, without their values.
    static func keys(below prefix: String) -> EtcdCall {
        // The first that does not: a slash is followed by a zero.
        let end = prefix.dropLast() + "0"
        return EtcdCall(
            path: "/v3/kv/range",
            json: #"{"key":\#(prefix.base64),"range_end":\#(String(end).base64),"keys_only":true}"#)
    }

    /// - Parameter failure: What to do where one of the comparisons fails.
    static func transaction(
        if comparisons: [EtcdComparison], then success: [EtcdOperation], else failure: [EtcdOperation]
    ) -> EtcdCall {
        let json = [
            #""compare":[\#(comparisons.map(\.json).joined(separator: ","))]"#,
            #""success":[\#(success.map(\.json).joined(separator: ","))]"#,
            #""failure":[\#(failure.map(\.json).joined(separator: ","))]"#,
        ]
        return EtcdCall(path: "/v3/kv/txn", json: "{\(json.joined(separator: ","))}")
    }

    /// - Parameter seconds: The time to live.
    static func grantLease(seconds: Int64) -> EtcdCall {
        EtcdCall(path: "/v3/lease/grant", json: #"{"TTL":"\#(seconds)"}"#)
    }

    static func keepLeaseAlive(_ id: Int64) -> EtcdCall {
        EtcdCall(path: "/v3/lease/keepalive", json: #"{"ID":"\#(id)"}"#)
    }

    static func revokeLease(_ id: Int64) -> EtcdCall {
        EtcdCall(path: "/v3/lease/revoke", json: #"{"ID":"\#(id)"}"#)
    }

    /// - Parameters:
    ///   - revision: The first one to tell of.
    ///   - deletionsOnly: Whether to leave out what is written.
    static func watch(_ key: String, from revision: Int64, deletionsOnly: Bool) -> EtcdCall {
        let filters = deletionsOnly ? #","filters":["NOPUT"]"# : ""
        return EtcdCall(
            path: "/v3/watch",
            json: #"{"create_request":{"key":\#(key.base64),"start_revision":"\#(revision)"\#(filters)}}"#)
    }

    static func authenticate(_ user: EtcdCredentials.User) -> EtcdCall {
        EtcdCall(
            path: "/v3/auth/authenticate",
            json: #"{"name":\#(user.name.quoted),"password":\#(user.password.reveal().quoted)}"#)
    }
}

/// What must hold for a transaction to be carried out; a revision of 0 means that there is no such key.
enum EtcdComparison: Sendable, Hashable {
    case modRevision(String, Int64)
    case createRevision(String, Int64)

    fileprivate var json: String {
        switch self {
        case .modRevision(let key, let revision):
            #"{"key":\#(key.base64),"target":"MOD","result":"EQUAL","mod_revision":"\#(revision)"}"#
        case .createRevision(let key, let revision):
            #"{"key":\#(key.base64),"target":"CREATE","result":"EQUAL","create_revision":"\#(revision)"}"#
        }
    }
}

/// A part of a transaction; no two that write may be about the same key.
enum EtcdOperation: Sendable, Hashable {
    case range(String)
    case put(String, [UInt8], lease: Int64 = 0)

    /// Gives a key another revision, and leaves its value and lease.
    case touch(String)
    case delete(String)

    fileprivate var json: String {
        switch self {
        case .range(let key): #"{"request_range":{"key":\#(key.base64)}}"#
        case .put(let key, let value, let lease):
            #"{"request_put":{"key":\#(key.base64),"value":\#(Data(value).base64),"lease":"\#(lease)"}}"#
        case .touch(let key):
            #"{"request_put":{"key":\#(key.base64),"ignore_value":true,"ignore_lease":true}}"#
        case .delete(let key): #"{"request_delete_range":{"key":\#(key.base64)}}"#
        }
    }
}

extension Data {
    fileprivate var base64: String { "\"\(base64EncodedString())\"" }
}

extension String {
    fileprivate var base64: String { Data(utf8).base64 }

    /// As a string of JSON (RFC 8259, section 7).
    var quoted: String {
        var text = "\""
        for scalar in unicodeScalars {
            switch scalar {
            case "\"", "\\": text += "\\\(scalar)"
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }
}
