import AccountCommands
import AccountKit
import AccountSupport

/// The information that client-go passes to a credential plugin in `KUBERNETES_EXEC_INFO`
/// (client.authentication.k8s.io, `ExecCredential`).
struct KubernetesExecInfo: Decodable, Equatable {
    struct Spec: Decodable, Equatable {
        struct Cluster: Decodable, Equatable {
            var server: String?

            /// Whether kubectl accepts any certificate, so that the rule for the server does not decide which server gets
            /// the token.
            var skipsVerification: Bool?

            private enum CodingKeys: String, CodingKey {
                case server
                case skipsVerification = "insecure-skip-tls-verify"
            }
        }

        /// Present only with `provideClusterInfo: true` in the kubeconfig.
        var cluster: Cluster?
    }

    var apiVersion: String
    var kind: String
    var spec: Spec?

    static let variable = "KUBERNETES_EXEC_INFO"
    static let group = "client.authentication.k8s.io/"

    init(_ text: String) throws(AccountError) {
        do {
            self = try JSONDecoder().decode(KubernetesExecInfo.self, from: Data(text.utf8))
        } catch {
            throw AccountError(
                .invalidArgument, "\(Self.variable) does not contain an ExecCredential")
        }
        guard kind == "ExecCredential" else {
            throw AccountError(.invalidArgument, "\(Self.variable) contains an object other than an ExecCredential")
        }
    }
}

extension KubernetesExecInfo.Spec.Cluster {
    /// Throws `misconfigured` if kubectl does not verify that it is connected to the server.
    func checkVerification() throws(AccountError) {
        guard skipsVerification == true else { return }
        throw AccountError(
            .misconfigured,
            "kubectl does not verify the certificate of the cluster (insecure-skip-tls-verify), so the cluster gets no token",
            hint: "set certificate-authority for this cluster of the kubeconfig, or add the argument --any-cluster")
    }
}

/// The supported versions of the API. Requests and responses are the same in both.
enum KubernetesAPIVersion: String, CaseIterable {
    case v1 = "client.authentication.k8s.io/v1"
    case v1beta1 = "client.authentication.k8s.io/v1beta1"

    init(named text: String) throws(AccountError) {
        let whole = text.contains("/") ? text : KubernetesExecInfo.group + text
        guard let version = Self(rawValue: whole) else {
            throw AccountError(
                .invalidArgument,
                "the API version \(text.shown) is not supported",
                hint: "set apiVersion in the kubeconfig to \(Self.v1.rawValue), or v1beta1 for kubectl before 1.22")
        }
        self = version
    }
}

struct KubernetesExecCredential: Encodable {
    struct Status: Encodable {
        var token: String
        var expirationTimestamp: Date?
    }

    var apiVersion: String
    var kind = "ExecCredential"
    var status: Status

    init(_ token: HelperToken, version: KubernetesAPIVersion) {
        apiVersion = version.rawValue
        status = Status(token: token.token.reveal(), expirationTimestamp: token.expiresAt)
    }
}
