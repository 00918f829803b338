@testable import EndToEndSupport
import Foundation
import Testing

/// Signing in with a code that the user enters in a browser on another device, at an authorization server that is not
/// part of this project.
@Suite(.queued(minutes: 15))
struct DjangoDeviceTests {
    @Test func `Approving the request on another device signs the user in`() async throws {
        try await Container.run { container in
            let server = try await DjangoServer(in: container)
            let account = try Tool.account(in: container)
            try await server.run { issuer in
                let outcome = try await Browser.run(in: container) { browser in
                    let login = account.command([
                        "login", "--device", "--client-id", "account-cli-device", "--issuer", issuer,
                    ])
                    var address: String?
                    return try await login.run { line in
                        guard let text = line.firstMatch(of: /^ +(\S+)$/)?.output.1 else { return }
                        guard let page = address else { return address = String(text) }
                        #expect(page == issuer + "/device/")
                        try await browser.open(page)
                        try await browser.follow(
                            DjangoPages.signIn() + DjangoPages.enterCode(String(text)) + DjangoPages.approveDevice)
                        // Wait for the page that confirms the user's decision.
                        _ = try await browser.page(with: "h1")
                    }
                }
                #expect(outcome.exitCode == 0, "\(outcome)")
                #expect(outcome.output == "")
                #expect(outcome.errors.hasSuffix("Signed in as alice at \(issuer).\n"))

                let before = try await account.storedToken()
                let refreshed = try await account("refresh")
                #expect(refreshed.exitCode == 0, "\(refreshed)")
                #expect(try await account.storedToken() != before)
                #expect(try await account("whoami", "--verify").output == "alice\n")
            }
        }
    }
}
