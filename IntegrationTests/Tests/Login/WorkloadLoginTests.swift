@testable import EndToEndSupport
import Foundation
import Testing

/// Sessions of a program that its platform identifies. `WorkloadGrantsTests` tests each grant and each rejection,
/// `WorkloadSourceTests` each source, and `LoginOptionsTests` the options that require a user.
@Suite(.queued)
struct WorkloadLoginTests {
    private static let token = "/oauth/token"
    private static let jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"

    private struct Job {
        let server: ExampleServer
        let account: Tool
        let container: Container
        let platform: WorkloadPlatform

        func logIn(_ source: String, _ options: [String] = [], with account: Tool? = nil) async throws -> Outcome {
            try await (account ?? self.account).run(
                ["login", "--workload", source, "--issuer", server.issuer] + options)
        }

        /// The requests to the token endpoint.
        func tokenRequests() async throws -> [ExampleServer.Log.Request] {
            try await server.log().requests.filter { $0.path == WorkloadLoginTests.token }
        }
    }

    private func run(_ test: (Job) async throws -> Void) async throws {
        try await Container.run { container in
            try await ExampleServer.run(WorkloadPlatform.serverOptions) { server in
                try await test(
                    Job(
                        server: server, account: Tool.account(in: container), container: container,
                        platform: WorkloadPlatform(audience: server.issuer)))
            }
        }
    }

    // MARK: Signing in

    private static let grants = [
        ("client-assertion", "client_credentials"),
        ("token-exchange", "urn:ietf:params:oauth:grant-type:token-exchange"),
    ]

    @Test(arguments: grants)
    func `Signs in with each grant, renews, and signs out`(grant: String, type: String) async throws {
        try await run { job in
            let options = ["--client-id", "account-cli", "--workload-grant", grant, "--scope", "groups"]
            let login = try await job.logIn(job.platform.command, options)
            #expect(login.exitCode == 0, "\(login)")
            #expect(login.errors.contains("Signed in as the client account-cli at "), "\(login)")
            #expect(try await job.account("whoami").output == "account-cli\n")
            let status = try await job.account("status")
            #expect(status.output.contains("command python3"), "\(status)")
            #expect(try await job.account("refresh").exitCode == 0)
            let requests = try await job.tokenRequests()
            #expect(requests.map(\.grantType) == [type, type])
            #expect(requests.map(\.scope) == ["groups", "groups"])
            let exec = try await job.account("exec", "--", "sh", "-c", "echo $ACCOUNT_TOKEN")
            #expect(exec.exitCode == 0 && exec.output.count > 1, "\(exec)")
            #expect(try await job.account("login").exitCode == 0)
            #expect(try await job.tokenRequests().last?.grantType == type)
            let logout = try await job.account("logout", "--json")
            #expect(logout.output.contains(#""revocation":"done""#), "\(logout)")
        }
    }

    @Test func `Signs in as the subject of a GitHub job`() async throws {
        try await run { job in
            try await WorkloadPlatform.runGitHub(for: job.account) { account in
                let login = try await job.logIn("github-actions", with: account)
                #expect(login.exitCode == 0, "\(login)")
                #expect(try await account("whoami").output == "repo:octo/app\n")
                #expect(try await account("refresh").exitCode == 0)
                let refused = try await account.with("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "another")("refresh")
                #expect(refused.exitCode == 78 && refused.errors.contains("id-token: write"), "\(refused)")
            }
            #expect(try await job.tokenRequests().map(\.grantType) == [Self.jwtBearer, Self.jwtBearer])
            let missing = try await job.account("refresh")
            #expect(missing.exitCode == 78 && missing.errors.contains("id-token: write"), "\(missing)")
        }
    }

    @Test(arguments: [
        (["--workload", "kubernetes"], "'file PATH'"),
        (["--workload", "github-actions", "--workload-grant", "password"], "--workload"),
    ])
    func `Refuses an unknown source and an unknown grant`(options: [String], text: String) async throws {
        try await Container.run { container in
            let login = try await Tool.account(in: container).run(
                ["login", "--issuer", "https://auth.example.com"] + options)
            #expect(login.exitCode == 64, "\(login)")
            #expect(login.errors.contains(text), "\(login)")
        }
    }

    @Test func `A session in a shared store names no program`() async throws {
        try await Container.run { container in
            let started = container.path("started")
            let program = "command touch \(started)"
            for source in [program, " " + program] {
                let login = try await Tool.account(in: container)(
                    "login", "--workload", source, "--issuer", "https://auth.example.com", "--store",
                    "etcd://127.0.0.1:1/accounts")
                #expect(login.exitCode == 78, "\(login)")
                #expect(login.errors.contains("shared store cannot get its assertions from a program"), "\(login)")
                #expect(!container.exists(started))
            }
        }
    }

    // MARK: Using the session

    @Test func `Helpers, programs and keep get the token of a workload`() async throws {
        try await run { job in
            let login = try await job.logIn(job.platform.command)
            #expect(login.exitCode == 0, "\(login)")
            #expect(try await job.account("rule", "add", "https://git.example.com").exitCode == 0)
            let later = try await WrongClock(in: job.container).tool(job.account, ahead: 3600)
            try await job.server.setClock(ahead: 3600)
            // Each program renews the token if it has expired.
            let git = try await later("git-credential", "get", input: "protocol=https\nhost=git.example.com\n\n")
            let token = try await later.storedToken()
            #expect(git.output.contains("password=\(token)\n"), "\(git)")
            let info = #"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{}}"#
            let kubernetes = try await later.with("KUBERNETES_EXEC_INFO", info)("kube-credential", "--any-cluster")
            #expect(kubernetes.output.contains(#""token":"\#(token)""#), "\(kubernetes)")
            let program = try await later("exec", "--", "sh", "-c", "echo $ACCOUNT_TOKEN")
            #expect(program.output == token + "\n", "\(program)")
            let file = job.container.path("kept")
            let keep = try await later("keep", "--once", "--file", file)
            #expect(keep.exitCode == 0, "\(keep)")
            #expect(try String(contentsOfFile: file, encoding: .utf8) == token)
            #expect(try await job.tokenRequests().map(\.status) == [200, 200])
        }
    }

    @Test func `status and doctor report a source without an assertion`() async throws {
        try await run { job in
            let path = job.container.path("token")
            try Data(try await job.platform.assertion().utf8).write(to: URL(filePath: path))
            let login = try await job.logIn("file \(path)")
            #expect(login.exitCode == 0, "\(login)")
            #expect(try await job.account("status").output.contains("Problem") == false)
            #expect(try await job.account("doctor").exitCode == 0)
            try FileManager.default.removeItem(atPath: path)
            let status = try await job.account("status")
            #expect(status.exitCode == 0 && status.output.contains("Problem"), "\(status)")
            let doctor = try await job.account("doctor")
            #expect(doctor.exitCode == 78, "\(doctor)")
            for outcome in [status, doctor] {
                let words = outcome.output.split { $0.isWhitespace }.joined(separator: " ")
                #expect(words.contains("\(path) cannot be read"), "\(outcome)")
                #expect(words.contains("check that the file is mounted"), "\(outcome)")
            }
            #expect(try await job.account("whoami", "--offline").exitCode == 0)

            // `doctor` runs a program that prints the assertion, and `status` does not.
            try Data(try await job.platform.assertion().utf8).write(to: URL(filePath: path))
            let other = try await job.logIn("command cat \(path)")
            #expect(other.exitCode == 0, "\(other)")
            try FileManager.default.removeItem(atPath: path)
            #expect(try await !job.account("status").output.contains("Problem"))
            let failed = try await job.account("doctor")
            #expect(failed.exitCode == 78, "\(failed)")
            let words = failed.output.split { $0.isWhitespace }.joined(separator: " ")
            #expect(words.contains("`cat` ended with 1"), "\(failed)")
        }
    }

    @Test func `Reads a projected token after each rotation`() async throws {
        try await run { job in
            // Kubernetes writes a new folder, and then replaces the link `..data`.
            let volume = job.container.path("volume")
            let files = FileManager.default
            func rotate(_ number: Int) async throws {
                let folder = volume + "/..\(number)"
                try files.createDirectory(atPath: folder, withIntermediateDirectories: true)
                try Data(try await job.platform.assertion().utf8).write(to: URL(filePath: folder + "/token"))
                try files.createSymbolicLink(atPath: volume + "/..new", withDestinationPath: "..\(number)")
                #expect(rename(volume + "/..new", volume + "/..data") == 0)
            }
            try await rotate(1)
            try files.createSymbolicLink(atPath: volume + "/token", withDestinationPath: "..data/token")
            let login = try await job.logIn("file \(volume)/token")
            #expect(login.exitCode == 0, "\(login)")
            // The server accepts each assertion once.
            let replayed = try await job.account("refresh")
            #expect(replayed.exitCode != 0 && replayed.errors.contains("still signed in"), "\(replayed)")
            try await rotate(2)
            let refresh = try await job.account("refresh")
            #expect(refresh.exitCode == 0, "\(refresh)")
        }
    }

    @Test func `Eight processes with an expired token send one request`() async throws {
        try await run { job in
            let login = try await job.logIn(job.platform.command)
            #expect(login.exitCode == 0, "\(login)")
            let later = try await WrongClock(in: job.container).tool(job.account, ahead: 3600)
            try await job.server.setClock(ahead: 3600)
            try await job.server.clearLog()
            let tokens = try await withThrowingTaskGroup(of: Outcome.self) { group in
                for _ in 1...8 { group.addTask { try await later("token") } }
                return try await group.reduce(into: Set<String>()) { tokens, outcome in
                    #expect(outcome.exitCode == 0, "\(outcome)")
                    tokens.insert(outcome.output)
                }
            }
            #expect(tokens.count == 1)
            #expect(try await job.tokenRequests().count == 1)
        }
    }

    @Test func `A rejected assertion ends nothing`() async throws {
        try await run { job in
            let path = job.container.path("token")
            func write(_ assertion: String) throws { try Data(assertion.utf8).write(to: URL(filePath: path)) }
            try write(try await job.platform.assertion())
            let options = ["--client-id", "account-cli", "--workload-grant", "jwt-bearer"]
            let login = try await job.logIn("file \(path)", options)
            #expect(login.exitCode == 0, "\(login)")
            let elsewhere = WorkloadPlatform(audience: "https://elsewhere.example.com")
            let rejected = [
                try await job.platform.assertion(lifetime: -1), try await elsewhere.assertion(), "not.an.assertion",
            ]
            for assertion in rejected {
                try write(assertion)
                let refresh = try await job.account("refresh", "--verbose")
                #expect(refresh.exitCode != 0 && refresh.exitCode != 77, "\(refresh)")
                #expect(!refresh.errors.contains(assertion), "\(refresh)")
                let isElsewhere = assertion == rejected[1]
                #expect(refresh.errors.contains("--client-assertion-audience") == isElsewhere, "\(refresh)")
            }
            #expect(try await job.account("token").exitCode == 0)
            // The last text names no subject, so it is not sent.
            #expect(
                try await job.tokenRequests().count == 2, "one request for each valid audience and subject")
            try write(try await job.platform.assertion())
            let refresh = try await job.account("refresh")
            #expect(refresh.exitCode == 0, "\(refresh)")
        }
    }

    @Test func `Neither another subject nor a file open to others renews the session`() async throws {
        try await run { job in
            let path = job.container.path("token")
            func write(_ assertion: String) throws { try Data(assertion.utf8).write(to: URL(filePath: path)) }
            try write(try await job.platform.assertion())
            let options = ["--client-id", "account-cli", "--workload-grant", "jwt-bearer"]
            let login = try await job.logIn("file \(path)", options)
            #expect(login.exitCode == 0, "\(login)")
            try write(try await job.platform.assertion(subject: "repo:octo/other"))
            let other = try await job.account("refresh")
            #expect(other.exitCode == 78, "\(other)")
            #expect(other.errors.contains("the assertion is for repo:octo/other"), "\(other)")
            #expect(other.errors.contains("still signed in"), "\(other)")
            try write(try await job.platform.assertion())
            let files = FileManager.default
            try files.setAttributes([.posixPermissions: 0o666], ofItemAtPath: path)
            let open = try await job.account("refresh")
            #expect(open.exitCode == 78 && open.errors.contains("chmod go-w \(path)"), "\(open)")
            #expect(try await job.account("token").exitCode == 0)
            #expect(try await job.tokenRequests().count == 1)
            try files.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            let refresh = try await job.account("refresh")
            #expect(refresh.exitCode == 0, "\(refresh)")
        }
    }

    @Test func `No file or output contains the assertion`() async throws {
        try await run { job in
            let assertion = try await job.platform.assertion()
            let account = job.account.with("GITLAB_OIDC_TOKEN", assertion)
            let login = try await job.logIn("gitlab", ["--verbose"], with: account)
            #expect(login.exitCode == 0, "\(login)")
            let outcomes = [
                login, try await account("refresh", "--verbose"), try await account("status", "--json"),
                try await account("doctor"), try await account("logout", "--verbose"),
            ]
            for outcome in outcomes { #expect(!(outcome.output + outcome.errors).contains(assertion), "\(outcome)") }
            #expect(
                try await job.logIn("env TOKEN", with: account.with("TOKEN", try await job.platform.assertion()))
                    .exitCode == 0)
            for (path, entry) in try job.container.files() {
                #expect(!String(decoding: entry.bytes, as: UTF8.self).contains(assertion), "\(path)")
            }
            let missing = try await job.account("refresh")
            #expect(missing.exitCode == 78 && missing.errors.contains("TOKEN"), "\(missing)")
        }
    }
}
