public import AccountKit
import AccountSupport
import NIOSSL

/// The credentials for an etcd cluster, which correspond to those of `etcdctl`.
public struct EtcdCredentials: Sendable {
    /// An etcd user.
    public struct User: Sendable {
        let name: String
        let password: Secret

        /// Creates a user.
        public init(name: String, password: Secret) {
            self.name = name
            self.password = password
        }
    }

    struct Files: Sendable, Hashable {
        var authority: String?
        var certificate: String?
        var key: String?
    }

    var user: User?
    var files: Files

    /// Creates credentials.
    ///
    /// - Parameters:
    ///   - certificateAuthorityFile: A PEM file with the trusted certificates, or `nil` for the system's certificates.
    ///   - certificateFile: A PEM file with the client's certificate, followed by its intermediate certificates.
    ///   - keyFile: A PEM file with the key of the client's certificate.
    ///   - user: The user, if etcd's authentication is enabled.
    public init(
        certificateAuthorityFile: String? = nil, certificateFile: String? = nil, keyFile: String? = nil,
        user: User? = nil
    ) {
        files = Files(authority: certificateAuthorityFile, certificate: certificateFile, key: keyFile)
        self.user = user
    }

    /// Returns the credentials in the environment variables of `etcdctl`: `ETCDCTL_CACERT`, `ETCDCTL_CERT`,
    /// `ETCDCTL_KEY` and `ETCDCTL_USER` (`name:password`). If `ETCDCTL_CACERT` is not set, `SSL_CERT_FILE` specifies
    /// the file with the trusted certificates.
    ///
    /// - Throws: `AccountError.Code.invalidArgument` if a variable is malformed.
    public static func fromEnvironment() throws(AccountError) -> EtcdCredentials {
        try EtcdCredentials(environment: Environment.value)
    }

    init(environment value: (String) -> String?) throws(AccountError) {
        self.init(
            certificateAuthorityFile: value("ETCDCTL_CACERT") ?? value("SSL_CERT_FILE"),
            certificateFile: value("ETCDCTL_CERT"),
            keyFile: value("ETCDCTL_KEY"))
        guard (files.certificate == nil) == (files.key == nil) else {
            throw AccountError(
                .invalidArgument, "only one of ETCDCTL_CERT and ETCDCTL_KEY is set", hint: "set both, or neither")
        }
        guard let text = value("ETCDCTL_USER") else { return }
        guard let colon = text.firstIndex(of: ":"), colon != text.startIndex else {
            // Without a password, etcdctl would prompt the user, which is impossible here.
            throw AccountError(.invalidArgument, "ETCDCTL_USER is not of the form name:password")
        }
        user = User(name: String(text[..<colon]), password: Secret(String(text[text.index(after: colon)...])))
    }
}

extension EtcdCredentials.Files {
    func tlsConfiguration() throws(AccountError) -> TLSConfiguration {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.certificateVerification = .fullVerification
        tls.minimumTLSVersion = .tlsv12
        if let authority {
            tls.trustRoots = .certificates(try Self.read(authority) { try NIOSSLCertificate.fromPEMFile($0) })
        }
        if let certificate {
            tls.certificateChain = try Self.read(certificate) {
                try NIOSSLCertificate.fromPEMFile($0).map { .certificate($0) }
            }
        }
        if let key {
            tls.privateKey = .privateKey(try Self.read(key) { try NIOSSLPrivateKey(file: $0, format: .pem) })
        }
        return tls
    }

    private static func read<Value>(_ path: String, _ body: (String) throws -> Value) throws(AccountError) -> Value {
        do {
            return try body(path)
        } catch {
            // Drop the original error, which may quote the file.
            throw AccountError(
                .misconfigured, "\(path) cannot be used: it is missing, not readable, or not a PEM file")
        }
    }
}
