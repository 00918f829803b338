import HTTPTypes
import Testing

@testable import auth_server

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The table of the services. The tests of the commands run it from end to end.
@Suite struct PersonalityTests {
    @Test func `Has one entry with sources for each name`() {
        #expect(Set(Personality.all.map(\.name)).count == Personality.all.count)
        for service in Personality.all {
            #expect(Personality.named(service.name)?.name == service.name)
            #expect(!service.sources.isEmpty && service.sources.allSatisfy { $0.hasPrefix("https://") })
            #expect(service.defaultScope.isSubset(of: service.scope))
            for answer in service.answers {
                #expect((try? JSONDecoder().decode(JSONObject.self, from: Data(answer.body.utf8))) != nil)
                #expect(answer.source.hasPrefix("https://"))
            }
        }
        #expect(Personality.named("standard") == nil)
    }

    @Test(arguments: Personality.all)
    func `Describes the endpoints of a service at the path of its issuer`(service: Personality) async throws {
        try await TestServer(service).run { api in
            for path in service.endpoints.discovery {
                let document = try await api.get(path)
                #expect(document.status == 200)
                let issuer = "http://localhost" + (service.discoveredIssuerPaths[path] ?? service.issuerPath)
                #expect(document.json["issuer"] == .string(issuer))
                #expect(document.json["token_endpoint"] == .string("http://localhost" + service.endpoints.token))
                for name in service.omittedFromDiscovery { #expect(document.json[name] == nil) }
            }
        }
    }

    @Test func `Gives a documented answer on request`() async throws {
        try await TestServer(.google).run { api in
            #expect(
                try await api.post("/control/answers", json: #"{"name":"reauthentication","times":1}"#).status == 200)
            let answer = try await api.refresh("rt_x")
            #expect(answer.status == 400 && answer.json["error_subtype"] == "invalid_rapt")
            #expect(try await api.refresh("rt_x").json["error_subtype"] == nil)
            #expect(try await api.post("/control/answers", json: #"{"name":"other"}"#).status == 400)
        }
    }

    @Test func `Spends a refresh token whose proof it refuses only at Bluesky`() async throws {
        for (service, isSpent) in [(Personality.bluesky, true), (.gitlab, false)] {
            var grants = GrantLedger()
            let tokens = grants.open(
                for: "alice", scope: service.scope, withRefreshToken: true, rules: TokenRules(), now: Date())
            if service.refusedProofSpendsToken { grants.spendUnexchanged(tokens.refreshToken ?? "") }
            let result = grants.refresh(tokens.refreshToken ?? "", scope: nil, rules: TokenRules(), now: Date())
            #expect((result == .reused) == isSpent)
        }
    }

    @Test func `Ends the oldest of more sign-ins than the service allows`() {
        var grants = GrantLedger()
        var rules = TokenRules()
        rules.signInLimit = 2
        let (scope, now) = (Scope(names: ["gist"]), Date())
        let tokens = (1...3).map { _ in
            grants.open(for: "alice", scope: scope, withRefreshToken: false, rules: rules, now: now).accessToken
        }
        let held = tokens.map { grants.holder(of: $0, kind: .oauth, now: now) != .unknown }
        #expect(held == [false, true, true])
    }
}
