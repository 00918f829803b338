import AccountKit

enum BrowserPrompt {
    /// The first line of `login --web --json`, for programs that open the page themselves.
    private struct Prompt: Encodable {
        var url: String
        var expiresIn: Int64
    }

    static func print(_ signIn: any BrowserSignIn) throws {
        do {
            try JSONDocument.print(["prompt": Prompt(url: signIn.url, expiresIn: signIn.lifetime.components.seconds)])
        } catch is Terminal.ClosedOutput {
            SignalGuard.endProcessByClosedPipe()
        }
    }
}
