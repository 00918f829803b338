@testable import EndToEndSupport
import Foundation
import Testing

/// Wrong clocks and clocks that jump. A jump causes at most one unnecessary refresh, and does not sign the user out.
@Suite(.queued)
struct ClockTests {
    /// How the service reports the expiry of an access token.
    enum Expiry: String, CaseIterable, Sendable {
        /// The response contains `expires_in`.
        case lifetime
        /// The token contains `exp`, according to the service's clock.
        case inToken
        /// The service does not report the expiry.
        case untold
    }

    /// The number of seconds by which the user's clock is ahead, at sign-in and at each later step.
    struct Walk: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let steps: [Int]

        init(_ name: String, _ steps: Int...) { (testDescription, self.steps) = (name, steps) }
    }

    private static let hour = 3600
    private static let year = 365 * 24 * hour

    static let walks = [
        Walk("An hour ahead, always", hour, hour, hour, hour, hour, hour),
        Walk("An hour behind, always", -hour, -hour, -hour, -hour, -hour, -hour),
        Walk("Signed in an hour ahead", hour, 0, -hour, hour, 0),
        Walk("Signed in an hour behind", -hour, 0, hour, 0, -hour),
        Walk("Ahead and back, again and again", 0, hour, 0, hour, 0, hour),
        Walk("Back and ahead, again and again", 0, -hour, 0, -hour, 0),
        Walk("A year ahead for a while", 0, year, year, 0, 0, hour),
        Walk("A year behind for a while", 0, -year, -year, 0, 0),
        Walk("Signed in before the clock was ever set", -year, 0, 0, 0),
        Walk("Signed in a year ahead", year, 0, 0, 0),
    ]

    @Test(arguments: walks, Expiry.allCases)
    func `A clock jump causes one refresh at most, a constant offset causes none`(
        walk: Walk, expiry: Expiry
    ) async throws {
        try await take(walk, expiry)
    }

    @Test(arguments: walks)
    func `Wrong clocks cause no extra refreshes with one-minute tokens`(walk: Walk) async throws {
        try await take(walk, .lifetime, lifetime: 60)
    }

    @Test(arguments: [-hour, hour, -year, year], Expiry.allCases)
    func `A wrong clock at the service causes no extra refreshes`(ahead: Int, expiry: Expiry) async throws {
        try await take(Walk("", 0, 0, 0, Self.hour, -Self.hour, 0), expiry, serverAhead: ahead)
    }

    /// Signs in, and expects that all commands succeed at every step with as few refreshes as possible.
    private func take(_ walk: Walk, _ expiry: Expiry, lifetime: Int = hour, serverAhead: Int = 0) async throws {
        try await Container.run { container in
            try await ExampleServer.run(["--access-token-lifetime", String(lifetime)]) { server in
                let account = try Tool.account(in: container)
                let clock = try await WrongClock(in: container)
                // Request only half of the lifetime, which a new token always provides.
                let token = ["token", "--min-validity", String(lifetime / 2)]
                var commands = [token, ["whoami"], ["whoami", "--max-age", "0"], ["status"], token]
                try await server.setClock(ahead: Double(serverAhead))
                switch expiry {
                case .untold: try await server.alter(.token, omitting: ["expires_in"])
                case .lifetime, .inToken: break
                }
                let start = ContinuousClock.now
                let login = try await clock.run(
                    account, ahead: walk.steps[0],
                    ["login", "--issuer", server.issuer, "--username", "alice", "--password-stdin"],
                    input: ExampleServer.alicePassword + "\n")
                try #require(login.exitCode == 0, "\(login)")

                if expiry == .inToken {
                    let expiry = Int(Date().timeIntervalSince1970) + serverAhead + lifetime
                    try await server.alter(
                        .token, omitting: ["expires_in"], setting: ["access_token": .text(Self.token(expiry: expiry))])
                    let refresh = try await clock.run(account, ahead: walk.steps[0], ["refresh"])
                    try #require(refresh.exitCode == 0, "\(refresh)")
                    // The server did not issue this token, so a check by `whoami` would fail.
                    commands = [token, ["whoami", "--offline"], ["status"], token]
                }
                try await server.clearLog()

                for (before, now) in zip(walk.steps, walk.steps.dropFirst()) {
                    for command in commands {
                        let outcome = try await clock.run(account, ahead: now, command)
                        #expect(outcome.exitCode == 0, "\(outcome)")
                        #expect(outcome.errors == "", "\(outcome)")
                    }
                    let log = try await server.log()
                    // On a busy machine, half of a short lifetime may pass, which causes a refresh each time.
                    let due = Int(start.duration(to: .now) / .seconds(lifetime / 2))
                    let allowed = (now == before || expiry == .untold ? 0 : 1) + due
                    #expect(log["refreshes"] <= allowed, "from \(before) to \(now): \(log)")
                    #expect(log["rotations"] == log["refreshes"])
                    #expect(log["reuseAlarms"] == 0)
                    try await server.clearLog()
                }
            }
        }
    }

    /// An unsigned JWT (RFC 7519).
    private static func token(expiry: Int) -> String {
        [#"{"alg":"none"}"#, #"{"exp":\#(expiry)}"#, ""].map {
            Data($0.utf8).base64EncodedString()
                .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        }.joined(separator: ".")
    }

    @Test func `A clock jump ahead causes one refresh and makes a token look expired`() async throws {
        // Proves that the clock shim works. The other tests depend on the shim.
        try await SignedInUser.run { user in
            let clock = try await WrongClock(in: user.container)
            for _ in 1...3 {
                #expect(try await clock.run(user.account, ahead: Self.hour, ["token"]).exitCode == 0)
            }
            #expect(try await user.server.log()["refreshes"] == 1)
            let status = try await clock.run(user.account, ahead: Self.year, ["status"])
            #expect(status.output.contains(/Expires +expired on [0-9: -]+; refreshed at the next use/), "\(status)")
        }
    }

    @Test func `Prints a valid token after the clock was set back`() async throws {
        try await Container.run { container in
            try await ExampleServer.run { server in
                let account = try Tool.account(in: container)
                let clock = try await WrongClock(in: container)
                let login = try await clock.run(
                    account, ahead: Self.year,
                    ["login", "--issuer", server.issuer, "--username", "alice", "--password-stdin"],
                    input: ExampleServer.alicePassword + "\n")
                try #require(login.exitCode == 0, "\(login)")
                // According to the clock at sign-in, this token is valid for more than another year.
                try await server.expireTokens()
                for _ in 1...3 {
                    let outcome = try await account("token")
                    #expect(outcome.exitCode == 0)
                    #expect(try await server.accepts(String(outcome.output.dropLast())))
                }
                #expect(try await server.log()["refreshes"] == 1)
            }
        }
    }

    @Test func `Processes with different clocks spend each refresh token once`() async throws {
        let offsets = [0, Self.hour, -Self.hour, Self.year, -Self.year]
        try await SignedInUser.run { user in
            let clock = try await WrongClock(in: user.container)
            try await user.server.expireTokens()
            try await withThrowingTaskGroup { group in
                for offset in offsets + offsets + offsets {
                    group.addTask { try await clock.run(user.account, ahead: offset, ["whoami", "--max-age", "0"]) }
                }
                for try await outcome in group {
                    #expect(outcome.exitCode == 0, "\(outcome)")
                    #expect(outcome.output == "alice\n")
                }
            }
            let log = try await user.server.log()
            #expect((1...offsets.count).contains(log["refreshes"]))
            #expect(log["rotations"] == log["refreshes"])
            #expect(log["reuseAlarms"] == 0)
        }
    }

    @Test(arguments: [-year, year])
    func `A wrong clock does not change how long a command waits`(ahead: Int) async throws {
        try await SignedInUser.run { user in
            let clock = try await WrongClock(in: user.container)
            try await user.server.setFaults(
                Fault(path: "/oauth/userinfo", delayMilliseconds: 60_000),
                Fault(path: "/oauth/token", delayMilliseconds: 12_000))
            let start = ContinuousClock.now
            let outcome = try await clock.run(user.account, ahead: ahead, ["whoami", "--max-age", "0", "--json"])
            // Without its own timeout, the command would wait for a minute.
            #expect((.seconds(2) ... .seconds(55)).contains(ContinuousClock.now - start))
            #expect(outcome.exitCode == 0, "\(outcome)")
            let document = try outcome.document()
            // If the clock is a year ahead, the token looks expired. The command therefore refreshes, and waits for the
            // response after printing its output.
            #expect(document.reason == (ahead > 0 ? "awaitingResponse" : "offline"))
            #expect(ahead > 0 || document.message?.hasSuffix(" did not respond in time") == true)
            #expect(document.account?.username == "alice")
        }
    }

    @Test func `Keeps the account if a wrong clock makes the certificate invalid`() async throws {
        try await Container.run { container in
            let certificate = try await Certificate.make(in: container)
            try await ExampleServer.run(certificate.serverOptions) { server in
                let account = try Tool.account(in: container).with("SSL_CERT_FILE", certificate.path)
                let login = try await account(
                    "login", "--issuer", server.issuer, "--username", "alice", "--password-stdin",
                    input: ExampleServer.alicePassword + "\n")
                try #require(login.exitCode == 0, "\(login)")
                let clock = try await WrongClock(in: container)
                for offset in [Self.year, -Self.year] {
                    let before = try container.files()
                    let json = try await clock.run(account, ahead: offset, ["whoami", "--json"])
                    #expect(json.exitCode == 0, "\(json)")
                    let report = try json.document()
                    #expect(report.state == "unverified")
                    #expect(report.reason == "untrustedTLS")
                    #expect(report.account?.username == "alice")
                    #expect(try container.files() == before)
                    #expect(try await account("whoami", "--verify").exitCode == 0)
                }
            }
        }
    }
}
