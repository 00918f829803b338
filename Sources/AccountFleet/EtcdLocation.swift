public import AccountKit
import AccountSupport

/// The location of sessions in an etcd cluster: `etcd://host:port,host:port/prefix`, or `etcds://…` for TLS.
public struct EtcdLocation: Sendable, Hashable, CustomStringConvertible {
    /// A node of the cluster, as `host:port`. An IPv6 address is in brackets.
    typealias Endpoint = String

    /// The nodes, in the order in which AccountKit tries them.
    let endpoints: [String]

    /// The prefix of the keys, without a slash at either end.
    let prefix: String

    let usesTLS: Bool

    /// Parses a location.
    ///
    /// - Parameter text: The location. The default port is 2379, and the default prefix is `account`.
    /// - Throws: `AccountError.Code.invalidArgument` if the text is malformed.
    public init(_ text: String) throws(AccountError) {
        func flaw(_ what: String) -> AccountError {
            AccountError(
                .invalidArgument,
                "this is not the address of a store: \(what); write etcds://host:2379,host:2379/prefix, or etcd:// without TLS"
            )
        }
        guard let scheme = ["etcd://", "etcds://"].first(where: text.hasPrefix) else {
            throw flaw("it does not begin with etcd:// or etcds://")
        }
        usesTLS = scheme == "etcds://"
        let rest = text.dropFirst(scheme.count)
        let hosts = rest.prefix { $0 != "/" }
        // Don't quote the text in the message: it may contain a password.
        guard !hosts.contains("@") else { throw flaw("it contains a user and password, which must be in ETCDCTL_USER") }
        var endpoints: [Endpoint] = []
        for host in hosts.split(separator: ",", omittingEmptySubsequences: false) {
            guard let server = HostAndPort(host) else { throw flaw("\"\(host)\" is not a host and port") }
            endpoints.append("\(server.host):\(server.port ?? 2379)")
        }
        self.endpoints = endpoints
        var prefix = rest.dropFirst(hosts.count)
        while prefix.first == "/" { prefix = prefix.dropFirst() }
        while prefix.last == "/" { prefix = prefix.dropLast() }
        guard prefix.utf8.allSatisfy({ $0.isASCIIAlphanumeric || "-_./".utf8.contains($0) }), !prefix.contains("//")
        else {
            throw flaw("a prefix may contain only letters, digits, dots, underscores, hyphens and slashes")
        }
        self.prefix = prefix.isEmpty ? "account" : String(prefix)
    }

    /// The location as text.
    public var description: String {
        "\(usesTLS ? "etcds" : "etcd")://\(endpoints.joined(separator: ","))/\(prefix)"
    }

    var isLoopback: Bool { endpoints.allSatisfy { LoopbackHost.contains(Self.hostAndPort($0).host) } }

    /// Returns the URLs of a node, in the order in which to try them. Without TLS, loopback addresses replace
    /// `localhost`, because a hosts file or a name server could resolve `localhost` to another machine.
    func urls(of endpoint: Endpoint) -> [String] {
        let (host, port) = Self.hostAndPort(endpoint)
        guard !usesTLS, host == LoopbackHost.name else { return ["\(usesTLS ? "https" : "http")://\(endpoint)"] }
        return LoopbackHost.addresses.map { "http://\($0):\(port)" }
    }

    /// Returns the host in lower case, and the port. An endpoint always ends with its port.
    static func hostAndPort(_ endpoint: Endpoint) -> (host: String, port: Substring) {
        guard let colon = endpoint.lastIndex(of: ":") else { return (endpoint.lowercased(), "") }
        return (endpoint[..<colon].lowercased(), endpoint[endpoint.index(after: colon)...])
    }
}
