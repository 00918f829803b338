import AccountKit

/// An error that etcd responded with: a code of gRPC and a text (`etcdserver/api/v3rpc/rpctypes`, whose texts are stable).
struct EtcdFailure: Error, Sendable, Hashable {
    /// https://grpc.io/docs/guides/status-codes/
    enum Code: Int64 {
        case invalidArgument = 3
        case notFound = 5
        case permissionDenied = 7
        case resourceExhausted = 8
        case failedPrecondition = 9
        case unauthenticated = 16
    }

    /// `nil` for those that say nothing of the request: a node that is not ready, a leader that was lost.
    var code: Code?
    var text: String

    init(_ object: JSONObject?) {
        code = object?.int64("code").flatMap(Code.init) ?? object?.int64("grpc_code").flatMap(Code.init)
        text = object?["message"]?.string ?? object?["error"]?.string ?? "no response of etcd"
        if code == .resourceExhausted, text.hasSuffix("too many requests") { code = nil }
    }

    /// The gateway itself refuses in plain text.
    init(status: UInt, text: String) {
        let isCommonName = text.contains("CommonName")
        code = isCommonName ? .failedPrecondition : nil
        self.text = isCommonName ? "CommonName" : "HTTP status \(status)"
    }

    /// A watch says the code in words.
    init(cancelReason text: String) {
        self.text = text
        code =
            if text.contains("PermissionDenied") {
                .permissionDenied
            } else if text.contains("invalid auth token") || text.contains("Unauthenticated") {
                .unauthenticated
            } else { nil }
    }

    var isLeaseNotFound: Bool { code == .notFound }

    /// A token of a node that has started anew, or from before a change of the users.
    var isTokenExpired: Bool {
        code == .unauthenticated || code == .invalidArgument && text.contains("auth store is old")
    }

    /// The server wants no token.
    var isAuthenticationDisabled: Bool { code == .failedPrecondition && text.contains("not enabled") }
}

extension AccountError {
    /// - Parameter store: Its address.
    init(_ failure: EtcdFailure, store: String) {
        switch failure.code {
        case .permissionDenied:
            self.init(
                .misconfigured,
                "\(store) does not allow it: the role of the user that ETCDCTL_USER names needs permission to read and write "
                    + "this prefix (`etcdctl role grant-permission`)")
        case .failedPrecondition where failure.text == "CommonName":
            self.init(
                .misconfigured,
                "\(store) takes no client certificate with a Common Name while its users' authentication is enabled: use one "
                    + "whose subject has none, such as `/O=machines`")
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
                "\(store) wants a user and password (\(failure.text)): set ETCDCTL_USER to name:password")
        default: self.init(.inaccessible, "\(store) did not do it (\(failure.text))")
        }
    }
}
