import AccountKit
import AccountSupport

/// A request to etcd's JSON gateway (etcd 3.4, `api_grpc_gateway`), in which bytes are Base64 and 64-bit numbers are
/// strings.
struct EtcdCall: Sendable, Hashable {
    var path: String
    var json: String

    /// Reads the newest value of a key, confirmed by a quorum.
    static func range(_ key: String) -> EtcdCall {
        EtcdCall(path: "/v3/kv/range", json: #"{"key":\#(key.base64)}"#)
    }

    /// Lists the keys below a prefix, without their values. The prefix ends with a slash.
    static func keys(below prefix: String) -> EtcdCall {
        EtcdCall(
            path: "/v3/kv/range",
            json: #"{"key":\#(prefix.base64),"range_end":\#(prefix.endOfFolder.base64),"keys_only":true}"#)
    }

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

    static func grantLease(seconds: Int64) -> EtcdCall {
        EtcdCall(path: "/v3/lease/grant", json: #"{"TTL":"\#(seconds)"}"#)
    }

    static func keepLeaseAlive(_ id: Int64) -> EtcdCall {
        EtcdCall(path: "/v3/lease/keepalive", json: #"{"ID":"\#(id)"}"#)
    }

    static func revokeLease(_ id: Int64) -> EtcdCall {
        EtcdCall(path: "/v3/lease/revoke", json: #"{"ID":"\#(id)"}"#)
    }

    static func watchDeletion(of key: String, from revision: Int64) -> EtcdCall {
        watch(#""key":\#(key.base64),"filters":["NOPUT"]"#, from: revision)
    }

    /// Watches all changes of the keys from `key` to the end of the folder. The name of the folder ends with a slash.
    static func watch(_ key: String, toEndOf folder: String, from revision: Int64) -> EtcdCall {
        watch(#""key":\#(key.base64),"range_end":\#(folder.endOfFolder.base64)"#, from: revision)
    }

    private static func watch(_ range: String, from revision: Int64) -> EtcdCall {
        EtcdCall(path: "/v3/watch", json: #"{"create_request":{\#(range),"start_revision":"\#(revision)"}}"#)
    }

    static let status = EtcdCall(path: "/v3/maintenance/status", json: "{}")

    static let alarms = EtcdCall(path: "/v3/maintenance/alarm", json: #"{"action":"GET"}"#)

    static let members = EtcdCall(path: "/v3/cluster/member/list", json: "{}")

    static func roles(of user: EtcdCredentials.User) -> EtcdCall {
        EtcdCall(path: "/v3/auth/user/get", json: #"{"name":\#(user.name.quoted)}"#)
    }

    static func authenticate(_ user: EtcdCredentials.User) -> EtcdCall {
        EtcdCall(
            path: "/v3/auth/authenticate",
            json: #"{"name":\#(user.name.quoted),"password":\#(user.password.reveal().quoted)}"#)
    }
}

/// A condition of a transaction. A revision of 0 means that the key does not exist.
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

/// An operation of a transaction. At most one operation may write each key.
enum EtcdOperation: Sendable, Hashable {
    case range(String)

    /// Reads the entries of a folder: the keys whose names begin with a letter or digit.
    case entries(of: String)
    case put(String, [UInt8], lease: Int64 = 0)

    /// Creates a new revision of a key, with the same value and lease.
    case touch(String)
    case delete(String)

    fileprivate var json: String {
        switch self {
        case .range(let key): #"{"request_range":{"key":\#(key.base64)}}"#
        case .entries(let folder):
            #"{"request_range":{"key":\#((folder + "0").base64),"range_end":\#(folder.endOfFolder.base64)}}"#
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

    /// The end of the range of keys below this folder. The name of the folder ends with a slash, and the character
    /// after the slash in ASCII is the zero.
    fileprivate var endOfFolder: String { dropLast() + "0" }
}

extension String {
    /// The text as a JSON string (RFC 8259, section 7).
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
