@testable import EndToEndSupport
import Foundation

/// A simulation of AWS on loopback, which is not part of this project, and the `aws` command; see
/// `Fixtures/aws/server.py`.
struct AWSServer: Sendable {
    let url: String
    private let python: String

    /// Prepares the server and the `aws` command, which takes a while the first time, and serves during the test.
    static func run<Result: Sendable>(in container: Container, _ test: (AWSServer) async throws -> Result) async throws
        -> Result
    {
        let python = try await PythonEnvironment.prepare("aws", importing: "awscli", "moto", in: container)
        let words = [python, "-B", BuiltProducts.fixture("aws/server.py"), "--port", String(try FreePort.find())]
        return try await ServerProcess.run(Command(words: words)) { try await test(AWSServer(url: $0, python: python)) }
    }

    /// The `aws` command of a user whose only credential is the token file.
    func command(_ arguments: String..., tokenFile: String, in container: Container) -> Command {
        var environment = container.environment
        environment["AWS_ENDPOINT_URL"] = url
        environment["AWS_DEFAULT_REGION"] = "eu-central-1"
        environment["AWS_EC2_METADATA_DISABLED"] = "true"
        environment["AWS_WEB_IDENTITY_TOKEN_FILE"] = tokenFile
        environment["AWS_ROLE_ARN"] = "arn:aws:iam::123456789012:role/developer"
        return Command(words: [python, "-B", "-m", "awscli"] + arguments, environment: environment)
    }

    /// The tokens that clients sent.
    func tokens() async throws -> [String] {
        let response = try await HTTP.get(url + "/recorded")
        return try JSONDecoder().decode([String].self, from: Data(response.text.utf8))
    }
}
