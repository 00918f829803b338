import AccountKit

enum BrowserPrompt {
    /// The first line of `login --web --json`, for programs that open the page themselves.
    private struct Prompt: Encodable {
        var url: String
        var expiresIn: Int64

        /// How long the page can be opened, if this is shorter.
        var openWithin: Int64?
    }

    static func print(_ signIn: any BrowserSignIn) throws {
        do {
            let prompt = Prompt(
                url: signIn.url, expiresIn: signIn.lifetime.components.seconds,
                openWithin: signIn.pageLifetime?.components.seconds)
            try JSONDocument.print(["prompt": prompt])
        } catch is Terminal.ClosedOutput {
            SignalGuard.endProcessByClosedPipe()
        }
    }
}
