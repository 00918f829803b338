import AccountCommands
import AccountHTTP
import AccountKit
import Testing

/// The quick start: other services than that of the tool in the README.
enum QuickStart {
    static func github(_ options: AuthorityOptions = AuthorityOptions()) throws(AccountError) -> any AccountAuthority {
        // snippet.github
        try OAuthAuthority(
            issuer: KnownService.github.issuer, clientID: "Iv1.0123456789abcdef",
            timeout: options.timeout, logger: options.logger)
        // snippet.end
    }

    static func service(_ options: AuthorityOptions = AuthorityOptions()) throws(AccountError) -> any AccountAuthority {
        // snippet.service
        try OAuthAuthority(
            issuer: "https://login.example.com", clientID: "notes-cli", timeout: options.timeout, logger: options.logger
        )
        // snippet.end
    }
}

struct QuickStartTests {
    @Test func `Configures an authority for a known service`() throws {
        #expect(try QuickStart.github().issuer == KnownService.github.issuer)
    }

    @Test func `Configures an authority for a service with a registered client`() throws {
        #expect(try QuickStart.service().issuer == "https://login.example.com")
    }
}
