import AccountCrypto
import AccountSupport

/// The page that the browser shows at the end of a sign-in. The page contains no token, runs no script, and loads no
/// other resource.
enum ResultPage: Sendable, Equatable {
    case signedIn(user: String, issuer: String)
    case refused(String?)
    case failed(String)
    case wrongState
    case usedBefore
    case notFound
    case badRequest

    var status: Int {
        switch self {
        case .signedIn, .refused, .failed: 200
        case .wrongState, .usedBefore, .badRequest: 400
        case .notFound: 404
        }
    }

    static let headers: [(name: String, value: String)] = [
        ("Content-Type", "text/html; charset=utf-8"),
        (
            "Content-Security-Policy",
            "default-src 'none'; style-src '\(styleHash)'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
        ("Cache-Control", "no-store"),
        ("Referrer-Policy", "no-referrer"),
        ("X-Content-Type-Options", "nosniff"),
    ]

    var html: String {
        let (kind, title, paragraphs) = content
        let goodbye = "You can close this window and go back to the terminal."
        let lines = ["<h1>\(title)</h1>"] + (paragraphs + [goodbye]).map { "<p>\($0)</p>" }
        return HTMLPage.document(
            head: [
                #"<meta name="viewport" content="width=device-width, initial-scale=1">"#,
                #"<meta name="color-scheme" content="light dark">"#,
                "<title>\(title)</title>",
                "<style>\(Self.style)</style>",
            ],
            body: "<main class=\"\(kind)\">\n\(lines.joined(separator: "\n"))\n</main>")
    }

    /// The content of the page, with paragraphs in HTML.
    private var content: (kind: String, title: String, paragraphs: [String]) {
        switch self {
        case .signedIn(let user, let issuer):
            (
                "good", "You are signed in",
                ["Signed in as <strong>\(HTMLPage.escaped(user))</strong> at \(HTMLPage.escaped(issuer))."]
            )
        case .refused(let reason):
            (
                "bad", "The sign-in was refused",
                ["You or the service declined, so you are not signed in."]
                    + (reason.map { ["Message from the service: \(HTMLPage.escaped($0))"] } ?? [])
            )
        case .failed(let reason):
            ("bad", "The sign-in failed", ["You are not signed in: \(HTMLPage.escaped(reason))."])
        case .wrongState:
            (
                "bad", "Wrong state",
                [
                    "This response belongs to another sign-in, so it was not used.",
                    "To sign in, open the URL that the terminal shows.",
                ]
            )
        case .usedBefore:
            ("bad", "Already used", ["This response was already used, and it can be used only once."])
        case .notFound: ("bad", "Page not found", ["This page does not exist."])
        case .badRequest: ("bad", "Invalid request", ["This request does not belong to a sign-in."])
        }
    }

    /// The hash that the Content Security Policy uses to allow only this style sheet (CSP Level 3, section 6.7.3).
    private static let styleHash = "sha256-" + Sodium.sha256(style.utf8).base64

    private static let style = """
        :root { color-scheme: light dark; --page: #f5f5f7; --card: #fff; --text: #1d1d1f; --good: #1a7f37; --bad: #b3261e; }
        @media (prefers-color-scheme: dark) {
          :root { --page: #161618; --card: #242428; --text: #f2f2f4; --good: #57c46f; --bad: #ff8a80; }
        }
        * { box-sizing: border-box; }
        body { margin: 0; min-height: 100vh; display: flex; align-items: center; justify-content: center; padding: 1.25rem;
          background: var(--page); color: var(--text); font: 1.0625rem/1.5 system-ui, sans-serif; }
        main { width: 100%; max-width: 34rem; padding: 1.5rem 1.75rem; border-radius: .75rem; background: var(--card);
          border-top: .375rem solid var(--bad); overflow-wrap: anywhere; }
        main.good { border-top-color: var(--good); }
        h1 { margin: 0 0 .75rem; font-size: 1.5rem; line-height: 1.25; color: var(--bad); }
        main.good h1 { color: var(--good); }
        p { margin: .75rem 0 0; }
        """
}
