import AccountCommands
import AccountKit
import AccountSupport

/// The protocol of docker-credential-helpers. All output, including errors, goes to standard output.
enum DockerCredential {
    /// The exact text by which docker recognizes that there are no credentials.
    static let notFound = "credentials not found in native keychain"

    static let noServer = "no credentials server URL"
    static let noUsername = "no credentials username"

    /// Returns the URLs that a server name such as `ghcr.io` or `127.0.0.1:5000/team` can mean. Without a scheme, the
    /// name means an `https` URL, or an `http` URL on this machine. All names of Docker Hub mean the same URLs.
    static func urls(of server: String) -> [RuleURL] {
        if let registry = DockerRegistry(server), registry.isHub { return registry.urls }
        return parsedURLs(of: server)
    }

    static func parsedURLs(of server: String) -> [RuleURL] {
        let texts = server.contains("://") ? [server] : ["https://" + server, "http://" + server]
        return texts.compactMap { try? RuleURL($0) }
    }

    struct Credentials: Codable {
        var serverURL: String
        var username: String
        var secret: String

        enum CodingKeys: String, CodingKey {
            case serverURL = "ServerURL"
            case username = "Username"
            case secret = "Secret"
        }
    }
}

extension DockerCredential.Credentials {
    init(_ bytes: [UInt8]) throws(AccountError) {
        do {
            self = try JSONDecoder().decode(Self.self, from: Data(bytes))
        } catch {
            throw AccountError(
                .invalidArgument, "standard input is not a document with ServerURL, Username and Secret")
        }
    }
}
