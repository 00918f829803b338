import Synchronization

/// The environment variables that contain a secret of this process, or lead to one. AccountKit withholds them from each
/// program that it starts: a browser, a program that prints a key or an assertion, and the program of `exec`.
package enum SecretVariables {
    /// The purpose of a program, which determines the variables that it needs.
    package enum Purpose: Sendable, CaseIterable {
        /// A program that needs none of the variables.
        case other

        /// A program that prints the key of an archive. It may read a passphrase, or a credential of the service, as
        /// `systemd-creds` does.
        case key
    }

    /// The variables of this process, apart from those that have the same name in every process.
    struct Owners: Sendable {
        /// The prefixes of apps. Programs that an app starts do not get the variables of the command either.
        var prefixes: Set<String> = ["ACCOUNT"]

        /// The variables of keys, if their names have no prefix.
        var keys: Set<String> = []

        func names(hiddenFrom purpose: Purpose) -> Set<String> {
            func named(_ suffix: String) -> Set<String> { Set(prefixes.map { $0 + suffix }) }
            let keySources = named("_PASSPHRASE").union(["CREDENTIALS_DIRECTORY"])
            let archives = named("_KEY").union(keys)
                // The credentials of an etcd cluster (etcdctl(1)). `ETCDCTL_CACERT` and `ETCDCTL_ENDPOINTS` are not secret.
                .union(["ETCDCTL_USER", "ETCDCTL_PASSWORD", "ETCDCTL_KEY", "ETCDCTL_CERT"])
            let secrets = archives.union(named("_TOKEN")).union(named("_CLIENT_SECRET"))
            return switch purpose {
            case .other: secrets.union(keySources)
            case .key: secrets
            }
        }
    }

    // The environment is shared by the whole process, too.
    private static let owners = Mutex(Owners())

    /// Adds the variables of an app, such as `NOTES_KEY` for the prefix `NOTES`.
    package static func add(prefix: String) { owners.withLock { _ = $0.prefixes.insert(prefix) } }

    /// Adds a variable that contains a key.
    package static func add(key variable: String) { owners.withLock { _ = $0.keys.insert(variable) } }

    /// Returns the names of the variables that a program must not get.
    package static func names(hiddenFrom purpose: Purpose) -> [String] {
        owners.withLock(\.self).names(hiddenFrom: purpose).sorted()
    }
}
