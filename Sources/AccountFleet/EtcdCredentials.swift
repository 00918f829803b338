public import AccountKit
import NIOSSL

/// How a client and an etcd cluster know each other, as `etcdctl` is told it.
public struct EtcdCredentials: Sendable {
    /// A user of etcd's own.
    public struct User: Sendable {
        /// The name.
        public var name: String

        /// The password.
        public var password: Secret

        /// Creates a user.
        public init(name: String, password: Secret) {
            self.name = name
            self.password = password
        }
    }

    /// PEM files.
    struct Files: Sendable, Hashable {
        var authority: String?
        var certificate: String?
        var key: String?
    }

    /// The certificates that are trusted, a PEM file; `nil` means the system's.
    public var certificateAuthorityFile: String? {
        get { files.authority }
        set { files.authority = newValue }
    }

    /// The client's certificate, a PEM file with those between it and its authority behind it.
    public var certificateFile: String? {
        get { files.certificate }
        set { files.certificate = newValue }
    }

    /// The key of the client's certificate, a PEM file.
    public var keyFile: String? {
        get { files.key }
        set { files.key = newValue }
    }

    /// The user, where etcd's authentication is enabled.
    public var user: User?

    var files: Files

    /// Creates credentials; each parameter is described with the property of its name.
    public init(
        certificateAuthorityFile: String? = nil, certificateFile: String? = nil, keyFile: String? = nil,
        user: User? = nil
    ) {
        files = Files(authority: certificateAuthorityFile, certificate: certificateFile, key: keyFile)
        self.user = user
    }

    /// The credentials that `etcdctl` takes from the environment: `ETCDCTL_CACERT`, `ETCDCTL_CERT`, `ETCDCTL_KEY` and
    /// `ETCDCTL_USER` (`name:password`). Without the first `SSL_CERT_FILE` counts, as for all that this process trusts.
    ///
    /// - Throws: `AccountError.Code.invalidArgument` if they are not of that form.
    public static func fromEnvironment() throws(AccountError) -> EtcdCredentials {
        try EtcdCredentials(environment: Environment.value)
    }

    init(environment value: (String) -> String?) throws(AccountError) {
        self.init(
            certificateAuthorityFile: value("ETCDCTL_CACERT") ?? value("SSL_CERT_FILE"),
            certificateFile: value("ETCDCTL_CERT"),
            keyFile: value("ETCDCTL_KEY"))
        guard (files.certificate == nil) == (files.key == nil) else {
            throw AccountError(.invalidArgument, "ETCDCTL_CERT and ETCDCTL_KEY belong together: set both, or neither")
        }
        guard let text = value("ETCDCTL_USER") else { return }
        guard let colon = text.firstIndex(of: ":"), colon != text.startIndex else {
            // etcdctl would ask for the password, which nobody is there to do.
            throw AccountError(.invalidArgument, "ETCDCTL_USER is not of the form name:password")
        }
        user = User(name: String(text[..<colon]), password: Secret(String(text[text.index(after: colon)...])))
    }
}

extension EtcdCredentials.Files {
    /// - Throws: `AccountError.Code.misconfigured` if a file cannot be used.
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
            // The error may quote the file.
            throw AccountError(
                .misconfigured, "\(path) cannot be used: it is not there, not readable, or not a PEM file")
        }
    }
}
