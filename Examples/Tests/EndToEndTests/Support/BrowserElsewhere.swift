import AsyncHTTPClient
import Foundation
import NIOCore
import Subprocess

extension ExampleServer {
    /// Signs in on the page that a command has shown, as a browser on another machine does.
    ///
    /// - Returns: The address that the browser ends on, where it finds nothing.
    func signInElsewhere(_ page: String, username: String = "alice", password: String = alicePassword) async throws -> String
    {
        guard let parts = URLComponents(string: page), let query = parts.percentEncodedQuery, let path = parts.url?.path else {
            throw Unexpected(page)
        }
        let form =
            "\(query)&username=\(username)&password=\(password.replacing(" ", with: "+"))&decision=approve"
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        let client = HTTPClient(configuration: configuration)
        do {
            var request = HTTPClientRequest(url: issuer + path)
            request.method = .POST
            request.headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
            request.body = .bytes(ByteBuffer(string: form))
            let response = try await client.execute(request, timeout: .seconds(30))
            guard let address = response.headers.first(name: "Location") else {
                throw Unexpected("no redirect: \(response.status)")
            }
            try await client.shutdown()
            return address
        } catch {
            try await client.shutdown()
            throw error
        }
    }
}

extension Tool {
    /// Runs `login --paste`, lets a test find what to paste for the address that is shown, and pastes that.
    ///
    /// - Parameter find: Gets the address that is shown, and returns the line to paste.
    func logIn(_ arguments: [String], pasting find: (String) async throws -> String) async throws -> Outcome {
        let command = command(["login", "--paste"] + arguments)
        let result = try await Subprocess.run(
            command.executable, arguments: Arguments(command.words), environment: command.subprocessEnvironment,
            input: .inputWriter, output: .string(limit: 1 << 20), error: .sequence
        ) { execution in
            var errors = ""
            for try await line in execution.standardError.strings() {
                errors += line + "\n"
                guard let address = line.firstMatch(of: /^ +(http\S+)$/)?.output.1 else { continue }
                _ = try await execution.standardInputWriter.write(try await find(String(address)) + "\n")
                try await execution.standardInputWriter.finish()
            }
            return errors
        }
        return Outcome(
            command: command.words.joined(separator: " "), status: result.terminationStatus, output: result.standardOutput,
            errors: result.closureResult)
    }
}
