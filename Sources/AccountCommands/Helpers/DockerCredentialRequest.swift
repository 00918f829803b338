import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The protocol of docker-credential-helpers: a word as argument, a server or a document on standard input, and everything,
/// errors too, on standard output.
enum DockerCredential {
    /// What docker looks for to know that there are none, to the letter.
    static let notFound = "credentials not found in native keychain"

    static let noServer = "no credentials server URL"
    static let noUsername = "no credentials username"

    /// The URLs that a server's name can mean: without a scheme it is `https`, or `http` on this machine.
    ///
    /// - Parameter server: A registry, such as `ghcr.io`, `https://index.docker.io/v1/` or `127.0.0.1:5000/team`.
    static func urls(of server: String) -> [RuleURL] {
        let texts = server.contains("://") ? [server] : ["https://" + server, "http://" + server]
        // What is no URL of ours has no credentials.
        return texts.compactMap { try? RuleURL($0) }
    }

    /// What docker hands over to be stored, and what it gets.
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
