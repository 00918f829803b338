import AccountKit
import AccountSupport

struct EtcdKeyValue: Sendable, Hashable {
    var key: String
    var value: [UInt8]
    var createRevision: Int64
    var modRevision: Int64

    /// The ID of the lease, or 0 if the key has no lease.
    var lease: Int64
}

extension EtcdKeyValue {
    /// Parses a key from JSON, in which etcd omits fields that are 0 or empty.
    init?(_ json: JSONValue?) {
        guard case .object(let object) = json, let modRevision = object.int64("mod_revision"),
            let value = Data(base64Encoded: object["value"]?.string ?? "")
        else { return nil }
        self.init(
            key: object["key"]?.string?.base64Decoded ?? "", value: [UInt8](value),
            createRevision: object.int64("create_revision") ?? 0, modRevision: modRevision,
            lease: object.int64("lease") ?? 0)
    }
}

struct EtcdTransactionResponse: Sendable, Hashable {
    /// Whether all comparisons were true.
    var isSuccess: Bool

    /// The revision of the store. After a write, this is also the revision of the written keys.
    var revision: Int64

    var ranges: [[EtcdKeyValue]]

    init?(_ object: JSONObject) {
        guard let revision = object.revision else { return nil }
        isSuccess = object["succeeded"] == .boolean(true)
        self.revision = revision
        ranges = (object["responses"]?.elements ?? []).compactMap { response in
            response.member("response_range").map { ($0.member("kvs")?.elements ?? []).compactMap { EtcdKeyValue($0) } }
        }
    }
}

struct EtcdEvent: Sendable, Hashable {
    var key: String

    var revision: Int64
    var isRemoval: Bool

    /// The key's `mod_revision` after the change, or 0 if the change removed the key.
    var modRevision: Int64 { isRemoval ? 0 : revision }
}

enum EtcdWatchMessage: Sendable, Hashable {
    /// The watch has begun or continues. `revision` is the revision of the node, which may be a moment behind the
    /// store.
    case progress(revision: Int64)

    case change([EtcdEvent])

    /// Etcd no longer has the changes since the requested revision. `revision` is the oldest revision that etcd has.
    case compacted(revision: Int64)

    case failure(EtcdFailure)

    init(_ object: JSONObject) {
        guard case .object(let result) = object["result"] else {
            self = .failure(EtcdFailure(object["error"]?.objectMembers ?? object))
            return
        }
        if let compacted = result.int64("compact_revision"), compacted > 0 {
            self = .compacted(revision: compacted)
        } else if result["canceled"] == .boolean(true) {
            self = .failure(EtcdFailure(cancelReason: result["cancel_reason"]?.string ?? "the watch was cancelled"))
        } else if let events = result["events"]?.elements, !events.isEmpty {
            self = .change(
                events.compactMap { event in
                    guard let entry = event.member("kv")?.objectMembers, let key = entry["key"]?.string?.base64Decoded
                    else { return nil }
                    return EtcdEvent(
                        key: key, revision: entry.int64("mod_revision") ?? 0,
                        isRemoval: event.member("type")?.string == "DELETE")
                })
        } else {
            self = .progress(revision: result.revision ?? 0)
        }
    }
}

extension String {
    var base64Decoded: String? { Data(base64Encoded: self).flatMap { String(data: $0, encoding: .utf8) } }
}

extension JSONObject {
    func int64(_ name: String) -> Int64? {
        switch self[name] {
        case .string(let text): Int64(text)
        case .integer(let number): number
        default: nil
        }
    }

    var revision: Int64? { self["header"]?.objectMembers?.int64("revision") }
}

extension JSONValue {
    var objectMembers: JSONObject? { if case .object(let members) = self { members } else { nil } }
    var elements: [JSONValue] { if case .array(let elements) = self { elements } else { [] } }

    func member(_ name: String) -> JSONValue? { objectMembers?[name] }
}
