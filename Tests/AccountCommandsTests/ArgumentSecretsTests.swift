import Testing

@testable import AccountCommands

/// Errors don't repeat a token or password that the user typed as an argument.
@Suite struct ArgumentSecretsTests {
    private static let token = "at_Zk3vQ9x-_LmN0pQrStUvWxYz0123456789abcdEFGH"
    private static let jwt = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJlMTIzNDU2Nzg5"

    static let rows: [(argument: String, text: String, shown: String)] = [
        (token, "unexpected argument '\(token)'", "unexpected argument '(not shown)'"),
        (jwt, "unknown subcommand '\(jwt)'", "unknown subcommand '(not shown)'"),
        ("c2VjcmV0c2VjcmV0MTIzNA==", "no 'c2VjcmV0c2VjcmV0MTIzNA=='", "no '(not shown)'"),
        (token, "no service named \(token.lowercased())", "no service named (not shown)"),
        ("--session=\(token)", "run `account login --session \(token)`", "run `account login --session (not shown)`"),
        ("Bearer \(token)", "unexpected argument 'Bearer \(token)'", "unexpected argument 'Bearer (not shown)'"),
        ("prompt=\(token)", "--parameter prompt=\(token)", "--parameter prompt=(not shown)"),
        ("--password=pw", "unknown option '--password=pw'", "unknown option '--password=(not shown)'"),
        ("https://\(token)", "cannot reach https://\(token.lowercased())/", "cannot reach https://(not shown)/"),
        (
            "https://a.example/?token=\(token)", "\"https://a.example/?token=\(token)\" has a query",
            "\"https://a.example/?(not shown)\" has a query"
        ),
        ("https://a.example/?a", "a https://a.example/?a", "a https://a.example/?(not shown)"),
        ("https://al:pw@a.example", "https://al:pw@a.example/ is invalid", "https://(not shown)@a.example/ is invalid"),
        // Ordinary words.
        ("customer-acme-staging-2024", "no session customer-acme-staging-2024", nil),
        ("auth.staging2.example.com", "no auth.staging2.example.com", nil),
        ("https://api.example.com/v1/3f786850e387550fdab836ed7e6dc881de23001b", "https://api.example.com/v1/3f", nil),
        ("https://alice@a.example", "https://alice@a.example", nil),
        ("--no-default-scopes", "unknown option '--no-default-scopes'", nil),
        ("/home/alice/keys/nightly2024.pem", "no file /home/alice/keys/nightly2024.pem", nil),
        ("/data/0123456789abcdef0123/key", "no key in /data/0123456789abcdef0123/key", nil),
        ("/Zk3vQ9x+LmN0pQrStUvWxYz01/a", "no '/Zk3vQ9x+LmN0pQrStUvWxYz01/a'", "no '(not shown)'"),
        ("logn", "unknown subcommand 'logn'", nil), ("", "missing", nil),
    ].map { ($0.0, $0.1, $0.2 ?? $0.1) }

    @Test(arguments: rows)
    func `Hides what may be a secret`(argument: String, text: String, shown: String) {
        let secrets = ArgumentSecrets([argument]) { $0 == "/data" }
        #expect(secrets.hidden(in: text) == shown)
    }
}
