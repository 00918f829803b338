@testable import EndToEndSupport
import Foundation
import NIOHTTP1
import Testing
@testable import auth_server

/// The services that AccountKit knows by name, and Linear, each imitated by the test server. The table of the server is also the table of
/// these tests. `KnownServiceTests` of AccountHTTP tests the differences that do not decide whether a session works.
@Suite(.queued(minutes: 10))
struct ServiceTests {
    /// The services that compare the port of the redirect URI. The tests choose a free one.
    private static let comparingPort: Set<String> = [
        "auth0", "okta", "cognito", "atlassian", "slack", "discord", "supabase", "huggingface",
    ]

    /// The services whose answer to a dead refresh token may also mean something else.
    private static let unclear: Set<String> = ["gitea", "discord"]

    // MARK: A session

    /// alice, signed in at a service.
    struct User: Sendable {
        let service: Personality
        let server: ExampleServer
        let container: Container
        let account: Tool
    }

    private static func run(
        _ service: Personality, onDevice: Bool = false, _ options: [String] = [],
        _ test: (User) async throws -> Void
    ) async throws {
        try await Container.run { container in
            try await ExampleServer.run(["--service", service.name, "--device-interval", "1"]) { server in
                var account = try Tool.account(in: container)
                if ["google", "atlassian"].contains(service.name) {
                    account = account.with("ACCOUNT_CLIENT_SECRET", "account-secret")
                }
                let user = User(service: service, server: server, container: container, account: account)
                let login = try await user.signIn(onDevice: onDevice, options)
                try #require(login.exitCode == 0, "\(login)")
                try await server.clearLog()
                try await test(user)
            }
        }
    }

    @Test(arguments: Personality.all)
    func `Signs in at each service, refreshes, and learns that the session ended`(service: Personality) async throws {
        try await Self.run(service) { user in
            let identifies = service.name != "bluesky"
            #expect(try await user.account("whoami").output == "alice\n")
            if identifies { #expect(try await user.account("whoami", "--verify").output == "alice\n") }

            // The second refresh uses the tokens of the first.
            let renews = !["github", "slack", "huggingface"].contains(service.name)
            for _ in 1...2 {
                let refresh = try await user.account("refresh")
                #expect(refresh.exitCode == (renews ? 0 : 78), "\(refresh)")
            }
            if identifies { #expect(try await user.account("whoami", "--verify").output == "alice\n") }

            try await user.server.endSessions()
            let ended =
                try await identifies ? user.account("whoami", "--max-age", "0", "--json") : user.account("refresh")
            if Self.unclear.contains(service.name) {
                #expect(try ended.exitCode == 0 && ended.document().state == "unverified", "\(ended)")
                #expect(user.container.exists(user.container.archive))
                // Without a valid access token, only another sign-in helps.
                let later = try await WrongClock(in: user.container).tool(user.account, ahead: 86_400)("token")
                #expect(later.exitCode == 77 && later.errors.contains("Sign in again"), "\(later)")
            } else {
                #expect(ended.exitCode == 77, "\(ended)")
                #expect(!user.container.exists(user.container.archive))
            }
        }
    }

    @Test(arguments: Personality.all.filter { !$0.answers.isEmpty })
    func `Keeps or ends a session as each documented answer says`(service: Personality) async throws {
        try await Self.run(service) { user in
            // The answers after which the session has ended.
            let ending = ["challenge", "bad_token"]
            for answer in service.answers.sorted(by: { !ending.contains($0.name) && ending.contains($1.name) }) {
                _ = try await user.server.control(.POST, "answers", ["name": answer.name])
                let refresh = try await user.account("refresh", "--json")
                if ending.contains(answer.name) {
                    #expect(refresh.exitCode == 77, "\(answer.name): \(refresh)")
                    #expect(!user.container.exists(user.container.archive))
                } else {
                    #expect(refresh.exitCode != 0 && user.container.exists(user.container.archive), "\(refresh)")
                    #expect(!refresh.output.contains("misconfigured"), "\(answer.name): \(refresh)")
                    #expect(try await user.account("whoami").output == "alice\n")
                    try await user.server.clearFaults()
                    // The pause that a rate limit requests is not over.
                    guard answer.status != 429 else { continue }
                    let again = try await user.account("refresh")
                    #expect(again.exitCode == 0, "\(answer.name): \(again)")
                }
            }
        }
    }

    // MARK: GitHub and Gitea

    @Test func `GitHub: the eleventh sign-in ends the oldest`() async throws {
        try await Self.run(.github) { user in
            let endpoints = user.service.endpoints
            for _ in 1...10 {
                let client = "client_id=account-cli&scope=read:user%20user:email"
                let begun = try FormBody.parameters(
                    in: try await HTTP.postForm(user.server.issuer + endpoints.deviceAuthorization, client).text)
                let (code, userCode) = (try #require(begun["device_code"]), try #require(begun["user_code"]))
                try await user.server.decide("approve", userCode, at: user.server.issuer + endpoints.devicePage)
                let form = "client_id=account-cli&grant_type=\(DeviceFlowGrant.name)&device_code=\(code)"
                let response = try await HTTP.postForm(user.server.issuer + endpoints.token, form)
                try #require(response.text.contains("access_token="), "\(response.text)")
            }
            let ended = try await user.account("whoami", "--max-age", "0", "--json")
            #expect(try ended.exitCode == 77 && ended.document().reason == "sessionEnded", "\(ended)")
            #expect(try await user.server.log()["/api/v3/user"] == 1, "no loop")
            let text = try await user.account("whoami")
            #expect(text.errors.contains("of more than ten sign-ins to an app, GitHub ends the oldest"), "\(text)")
        }
    }

    private enum DeviceFlowGrant {
        static let name = "urn:ietf:params:oauth:grant-type:device_code"
    }

    @Test func `GitHub: a bad code with status 200 signs in nobody`() async throws {
        try await Container.run { container in
            try await ExampleServer.run(["--service", "github", "--device-interval", "1"]) { server in
                let user = ServiceTests.User(
                    service: .github, server: server, container: container, account: try .account(in: container))
                try await server.setFaults(
                    EndToEndSupport.Fault(
                        path: user.service.endpoints.token, status: 200,
                        body: #"{"error":"bad_verification_code","error_description":"The code is incorrect"}"#))
                let login = try await user.signIn(onDevice: true)
                #expect(login.exitCode != 0 && !container.exists(container.archive), "\(login)")
            }
        }
    }

    @Test func `GitHub: passes on a token of 520 characters with dots unchanged`() async throws {
        try await Self.run(.githubApp) { user in
            #expect(try await user.account("refresh").exitCode == 0)
            let token = try await user.account("token").output.trimmingCharacters(in: .newlines)
            #expect(token.wholeMatch(of: /ghs_[0-9]+_[\w-]+\.[\w-]+\.[\w-]+/) != nil && token.count > 500, "\(token)")
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
            // As in a workflow of GitHub Actions.
            let workflow = user.account.with("ACCOUNT_TOKEN", token)
            #expect(try await workflow("token").output == token + "\n")
            #expect(try await workflow("exec", "--env", "T", "--", "printenv", "T").output == token + "\n")
        }
    }

    @Test func `GitHub: warns before an unused refresh token ends`() async throws {
        try await Self.run(.githubApp) { user in
            #expect(try await !user.account("status").output.contains("not refreshed before"))
            let later = try await WrongClock(in: user.container).tool(user.account, ahead: 160 * 86_400)
            let status = try await later("status")
            #expect(status.output.contains("ends this session if it is not refreshed before"), "\(status)")
            let doctor = try await later("doctor")
            #expect(doctor.output.contains("Run `account refresh`"), "\(doctor)")
            #expect(try await user.server.log().requests.allSatisfy { $0.grantType == nil })
        }
    }

    @Test func `Gitea: a used refresh token asks for a sign-in, and ends nothing`() async throws {
        try await Self.run(.gitea) { user in
            try await user.server.setFaults(
                EndToEndSupport.Fault(
                    path: user.service.endpoints.token, grantType: "refresh_token", disconnect: .before,
                    afterHandler: true, times: 1))
            #expect(try await user.account("refresh").exitCode != 0, "the response is lost")
            let refresh = try await user.account("refresh", "--json")
            #expect(refresh.exitCode != 0 && !refresh.output.contains("misconfigured"), "\(refresh)")
            #expect(try await user.account("whoami").output == "alice\n")
            let later = try await WrongClock(in: user.container).tool(user.account, ahead: 86_400)("token")
            #expect(later.exitCode == 77 && later.errors.contains("no longer renews this session"), "\(later)")
            #expect(user.container.exists(user.container.archive))
        }
    }

    // MARK: Google and Entra

    @Test func `Google: never requests the scope offline_access`() async throws {
        try await Container.run { container in
            try await ExampleServer.run(["--service", "google"]) { server in
                let account = try Tool.account(in: container).with("ACCOUNT_CLIENT_SECRET", "account-secret")
                let user = User(service: .google, server: server, container: container, account: account)
                #expect(try await user.signIn(onDevice: false).exitCode == 0)
                let requests = try await server.log().requests
                #expect(requests.allSatisfy { $0.scope?.contains("offline_access") != true }, "\(requests)")
                #expect(try await account("refresh").exitCode == 0)
            }
        }
    }

    @Test func `Entra: names the API in the scopes of each request, and sends no resource`() async throws {
        let options = ["--scope", "api://notes/.default", "--resource", "urn:example:notes"]
        for options in [options, Array(options.prefix(2))] {
            try await Self.run(.entra, options) { user in
                #expect(try await user.account("refresh").exitCode == 0)
                let refresh = try #require(
                    try await user.server.log().requests.first { $0.grantType == "refresh_token" })
                #expect(refresh.scope?.contains("api://notes/.default") == true, "\(refresh)")
                #expect(refresh.resource == nil)
                // User info accepts no token of the API, which ends nothing.
                let state = try await user.account("whoami", "--max-age", "0", "--json")
                #expect(try state.exitCode == 0 && state.document().account != nil, "\(state)")
                #expect(try await user.account("refresh").exitCode == 0)
            }
        }
    }

    @Test func `Entra: a tenant issuer, the redirect host localhost and a text as lifetime`() async throws {
        try await Container.run { container in
            try await ExampleServer.run(["--service", "entra"]) { server in
                let user = User(
                    service: .entra, server: server, container: container, account: try .account(in: container))
                let login = try await user.signIn(onDevice: false, issuerPath: Personality.entra.issuerPath)
                #expect(login.exitCode == 0, "\(login)")
                let status = try await user.account("status", "--json").document()
                #expect(status.expiresAt != nil && status.account?.issuer == server.issuer + user.service.issuerPath)
            }
        }
    }

    // MARK: Identity services and products

    @Test(arguments: [Personality.auth0, .huggingFace, .keycloak, .okta, .entra])
    func `Signs in with a device code, and gets a refresh token`(service: Personality) async throws {
        try await Self.run(service, onDevice: true) { user in
            let refresh = try await user.account("refresh")
            #expect(refresh.exitCode == 0, "\(refresh)")
            let verified = try await user.account("whoami", "--verify")
            #expect(verified.output == "alice\n", "\(verified)")
        }
    }

    @Test func `Slack: a token of the type user works until it expires`() async throws {
        try await Self.run(.slack) { user in
            let header = try await user.account("token", "--json")
            #expect(header.exitCode == 0 && header.output.contains(#""tokenType":"Bearer""#), "\(header)")
            let later = try await WrongClock(in: user.container).tool(user.account, ahead: 7200)("token")
            #expect(later.exitCode != 0 && later.errors.lowercased().contains("sign in"), "\(later)")
            #expect(user.container.exists(user.container.archive))
        }
    }

    @Test func `Linear: sends the scheme Bearer for tokens of the type bearer`() async throws {
        try await Self.run(.linear) { user in
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
            let token = try await user.account("token").output.trimmingCharacters(in: .newlines)
            let userInfo = user.server.issuer + user.service.endpoints.userInfo
            #expect(try await user.account("rule", "add", userInfo, "--session", "default").exitCode == 0)
            let headers = try await user.account("headers", userInfo)
            #expect(headers.output.contains("Bearer \(token)"), "\(headers)")
            let log = try await user.server.log()
            #expect(log["refreshes"] == 0 && log[user.service.endpoints.userInfo] == 1, "\(log)")
        }
    }

    @Test func `Atlassian: adopts the tokens of another process for a revoked access token`() async throws {
        try await Self.run(.atlassian) { user in
            try await user.server.expireTokens()
            try await user.account.expectName("alice", inProcesses: 4)
            let log = try await user.server.log()
            #expect(log["rotations"] == 1 && log["reuseAlarms"] == 0)
        }
    }

    @Test func `Bluesky: obtains a nonce before it sends the refresh token`() async throws {
        try await Self.run(.bluesky) { user in
            // The service no longer accepts the stored nonce, and spends a token with a wrong one.
            _ = try await user.server.control(.DELETE, "nonces")
            for _ in 1...2 {
                let refresh = try await user.account("refresh")
                #expect(refresh.exitCode == 0, "\(refresh)")
            }
            #expect(try await user.server.log()["rotations"] == 2)
        }
    }
}

extension ServiceTests.User {
    func signIn(
        onDevice: Bool, _ options: [String] = [], issuerPath: String? = nil
    ) async throws -> Outcome {
        let path = issuerPath ?? (service.name == "entra" ? "/common/v2.0" : service.issuerPath)
        let name = service.name.hasPrefix("github") ? "github" : service.name
        var words = ["--issuer", server.issuer + path, "--client-id", "account-cli"] + options
        if name != "linear" { words += ["--service", name] }
        guard !onDevice, !service.name.hasPrefix("github") else {
            return try await account.command(["login", "--device"] + words).whileRunning { login in
                let code = try await login.errors.match {
                    $0.firstMatch(of: /\n +([A-Z]{4}-[A-Z]{4})\n/).map { String($0.1) }
                }
                try await server.decide("approve", code, at: server.issuer + service.endpoints.devicePage)
            }
        }
        if service.name == "bluesky" { words += ["--username", "alice"] }
        if ServiceTests.comparesPort(service) {
            let host = service.redirectHosts?.first ?? "127.0.0.1"
            words += ["--redirect-uri", "http://\(host):\(try FreePort.find())/callback"]
        }
        return try await account.logIn(at: server, words)
    }
}

extension ServiceTests {
    fileprivate static func comparesPort(_ service: Personality) -> Bool { comparingPort.contains(service.name) }
}
