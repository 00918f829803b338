import AccountCommands

/// A registry, and the text by which docker finds its credentials.
///
/// docker compares texts: `credHelpers`, `credsStore` and `auths` in config.json apply to the exact key that docker looks
/// up. For Docker Hub, the key is the URL of its former index. For any other registry, the key is the host, with a port if
/// the image names one, but without scheme and path. An entry in `credHelpers` takes precedence over `credsStore` and
/// `auths`.
struct DockerRegistry: Equatable {
    /// The key that docker looks up.
    let key: String

    /// The key of Docker Hub.
    static let hub = "https://index.docker.io/v1/"

    /// The hosts that mean Docker Hub: of image names, of its index, of its API, and of its website.
    private static let hubHosts: Set = ["docker.io", "index.docker.io", "registry-1.docker.io", "hub.docker.com"]

    /// Reads a registry as a user writes it: a host or a URL, in any case, with any path.
    ///
    /// - Returns: `nil` if docker cannot look up such a registry. A host without a dot or a port, apart from
    ///   `localhost`, is the name of a user at Docker Hub.
    init?(_ text: String) {
        guard let url = DockerCredential.parsedURLs(of: text).first else { return nil }
        if Self.hubHosts.contains(url.host) {
            key = Self.hub
            return
        }
        let name = url.authority
        guard url.host == "localhost" || name.contains(where: { $0 == "." || $0 == ":" }) else { return nil }
        key = name
    }

    var isHub: Bool { key == Self.hub }

    /// The argument of commands that means this registry.
    var name: String { isHub ? "docker.io" : key }

    /// The keys that docker, podman or skopeo look up. The others name Docker Hub as images do.
    var keys: Set<String> { isHub ? [key, name] : [key] }

    /// The URLs of which one must have a rule, in order. Docker Hub has several hosts.
    var urls: [RuleURL] {
        isHub
            ? ["https://index.docker.io/v1/", "https://docker.io", "https://registry-1.docker.io"]
                .compactMap { try? RuleURL($0) }
            : DockerCredential.parsedURLs(of: key)
    }

    /// The URL for a new rule.
    var ruleURL: RuleURL? { isHub ? try? RuleURL("https://index.docker.io") : urls.first }
}
