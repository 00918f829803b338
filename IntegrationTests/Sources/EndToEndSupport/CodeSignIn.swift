import Foundation

extension ExampleServer {
    /// Signs in without a browser at the page that the command opens.
    ///
    /// - Returns: The address that the service redirects to.
    func redirection(
        from page: String, username: String = "alice", password: String = alicePassword
    ) async throws -> String {
        let items = URLComponents(string: page)?.percentEncodedQueryItems ?? []
        let path = page.prefix { $0 != "?" }
        let request = items.map { "\($0.name)=\($0.value ?? "")" }
        let form =
            request + ["username=\(username)", "password=\(password.replacing(" ", with: "+"))", "decision=approve"]
        let outcome = try await Command(
            words: [
                "curl", "--silent", "--show-error", "--noproxy", "*", "--output", "/dev/null", "--write-out",
                "%{redirect_url}", "--data", form.joined(separator: "&"), String(path),
            ]
        ).run()
        guard outcome.exitCode == 0, outcome.output.hasPrefix("http") else { throw Unexpected(outcome) }
        return outcome.output
    }
}

extension Tool {
    /// Runs `login --web`, and signs in without a browser.
    ///
    /// - Parameters:
    ///   - server: The service.
    ///   - arguments: Further arguments of the command.
    ///   - meanwhile: Receives the command and the sign-in address, and runs while another task follows the redirect.
    func logIn(
        at server: ExampleServer, _ arguments: [String] = [],
        meanwhile: @escaping @Sendable (RunningCommand, _ address: String) async throws -> Void = { _, _ in }
    ) async throws -> Outcome {
        let login = environment["BROWSER"] == nil ? with("BROWSER", "true") : self
        return try await login.command(["login", "--web"] + arguments).whileRunning { running in
            let address = try await running.errors.match { $0.firstMatch(of: /\n +(http\S+)\n/).map { String($0.1) } }
            let back = try await server.redirection(from: address)
            // Ignore the result page until the command has accepted or rejected the sign-in.
            async let page = HTTP.get(back)
            try await meanwhile(running, address)
            _ = try? await page
        }
    }
}

extension Tool {
    /// Runs `login --device`, and sends the user's decision from another device.
    func logInOnDevice(
        at server: ExampleServer, _ arguments: [String] = [], decision: String = "approve",
        meanwhile: @escaping @Sendable (RunningCommand) async throws -> Void = { _ in }
    ) async throws -> Outcome {
        try await command(["login", "--device"] + arguments).whileRunning { running in
            let code = try await running.errors.match {
                $0.firstMatch(of: /\n +([A-Z]{4}-[A-Z]{4})\n/).map { String($0.1) }
            }
            try await server.decide(decision, code)
            try await meanwhile(running)
        }
    }
}
