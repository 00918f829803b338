import AccountKit
import AccountSupport

/// An error response of etcd: a gRPC code and a message (`etcdserver/api/v3rpc/rpctypes`; the messages are stable).
struct EtcdFailure: Error, Sendable, Hashable {
    /// A gRPC status code (https://grpc.io/docs/guides/status-codes/).
    enum Code: Int64 {
        case invalidArgument = 3
        case notFound = 5
        case permissionDenied = 7
        case resourceExhausted = 8
        case failedPrecondition = 9
        case unauthenticated = 16
    }

    /// The code, or `nil` for an error that does not concern the request, such as a node that is not ready or has lost
    /// its leader.
    var code: Code?
    var text: String

    init(_ object: JSONObject?) {
        code = object?.int64("code").flatMap(Code.init) ?? object?.int64("grpc_code").flatMap(Code.init)
        text = Self.shown(object?["message"]?.string ?? object?["error"]?.string ?? "no response from etcd")
        if code == .resourceExhausted, text.hasSuffix("too many requests") { code = nil }
    }

    /// Parses an error response of the gateway itself, which is plain text.
    init(status: UInt, text: String) {
        let isCommonName = text.contains("CommonName")
        code = isCommonName ? .failedPrecondition : nil
        self.text = isCommonName ? "CommonName" : "HTTP status \(status)"
    }

    /// Parses the reason for which etcd ended a watch. The reason contains the code in words.
    init(cancelReason text: String) {
        self.text = Self.shown(text)
        code =
            if text.contains("PermissionDenied") {
                .permissionDenied
            } else if text.contains("invalid auth token") || text.contains("Unauthenticated") {
                .unauthenticated
            } else { nil }
    }

    /// A message of etcd has one line. Another server may send any text.
    private static func shown(_ text: String) -> String { String(text.prefix(200)).shown }

    var isLeaseNotFound: Bool { code == .notFound }

    /// Whether etcd issued the token before a restart of the node or before a change of the etcd users.
    var isTokenExpired: Bool {
        code == .unauthenticated || code == .invalidArgument && text.contains("auth store is old")
    }

    var isAuthenticationDisabled: Bool { code == .failedPrecondition && text.contains("not enabled") }
}

extension AccountError {
    init(_ failure: EtcdFailure, store: String) {
        switch failure.code {
        case .permissionDenied:
            self.init(
                .misconfigured,
                "\(store) does not allow this: the role of the user that ETCDCTL_USER names needs permission to read and write "
                    + "this prefix (`etcdctl role grant-permission`)")
        case .failedPrecondition where failure.text == "CommonName":
            self.init(
                .misconfigured,
                "\(store) accepts no client certificate with a Common Name while its users' authentication is enabled: use a "
                    + "certificate whose subject has no Common Name, such as `/O=machines`")
        case .unauthenticated:
            self.init(.misconfigured, "\(store) does not accept the user's token (\(failure.text))")
        case .invalidArgument where failure.text.contains("too large"),
            .resourceExhausted where failure.text.contains("larger than max"):
            self.init(
                .tooLarge,
                "the entry is larger than \(store) allows: start etcd with a larger --max-request-bytes; nothing was changed"
            )
        case .resourceExhausted:
            self.init(
                .inaccessible,
                "\(store) is full (\(failure.text)): compact and defragment it, then disarm the alarm; nothing was changed"
            )
        case .invalidArgument where failure.text.contains("user"):
            self.init(
                .misconfigured,
                "\(store) requires a user and password (\(failure.text)): set ETCDCTL_USER to name:password")
        default: self.init(.inaccessible, "\(store) refused the request (\(failure.text))")
        }
    }
}
