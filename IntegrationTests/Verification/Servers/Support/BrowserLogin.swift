@testable import EndToEndSupport
import Foundation
import Testing

/// The result of a `login --web` with a browser.
struct BrowserLogin: Sendable {
    let outcome: Outcome
    let address: AuthorizationAddress
    /// The last page in the browser.
    let page: Browser.Page
}

extension Tool {
    /// Runs `login --web`, and signs in with a browser.
    ///
    /// - Parameters:
    ///   - browser: The browser.
    ///   - steps: The user's actions on the service's pages.
    ///   - arguments: Further arguments of the command.
    func logIn(
        with browser: Browser, following steps: [Browser.Step], _ arguments: [String]
    ) async throws -> BrowserLogin {
        var end: (AuthorizationAddress, Browser.Page)?
        let outcome = try await logIn(arguments) { address in
            try await browser.open(address)
            try await browser.follow(steps)
            end = (try AuthorizationAddress(address), try await browser.resultPage())
        }
        guard let end else { throw Unexpected(outcome) }
        return BrowserLogin(outcome: outcome, address: end.0, page: end.1)
    }
}

// MARK: - The result page

extension Browser {
    /// Waits for the command's result page.
    func resultPage() async throws -> Page { try await page(with: "main.good > h1, main.bad > h1") }

    /// Expects that the page, its address and the browser's history contain no secret of the sign-in.
    func expectNothingSecret(after login: BrowserLogin, of account: Tool) async throws {
        #expect(login.page.address == login.address.result)
        let token = try await account.storedToken()
        for secret in [token, login.address.state, login.address.challenge, "code="] {
            #expect(!login.page.source.contains(secret))
        }
        let rest = login.page.source.replacing(/<style>(.|\n)*?<\/style>/, with: "")
        let words = rest.matches(of: /[A-Za-z0-9_\-]{20,}/).map { String($0.output) }
        #expect(words.isEmpty, "these look like secrets")
        let history = try await history()
        #expect(history.contains(login.address.result))
        #expect(!history.contains { $0.hasPrefix(login.address.callback) || $0.contains("code=") })
    }

    /// Expects that the page runs no script and loads no other resource.
    func expectNothingElse(on page: Page) async throws {
        #expect(try await value(of: "document.scripts.length") == .integer(0))
        #expect(try await value(of: "performance.getEntriesByType('resource').length") == .integer(0))
        for mark in ["<script", "src=", "href=", "url(", "@import", "javascript:"] {
            #expect(!page.source.contains(mark))
        }
    }

    /// Checks the page on a phone in light and dark mode, and saves screenshots.
    func takePictures(_ name: String) async throws {
        var backgrounds: [JSON] = []
        for scheme in ColorScheme.allCases {
            try await becomeTelephone(scheme)
            try await takePicture("\(name)-\(scheme)")
            #expect(try await value(of: "innerWidth") == .integer(390))
            #expect(try await value(of: "document.documentElement.scrollWidth <= innerWidth") == .boolean(true))
            backgrounds.append(try await value(of: "getComputedStyle(document.body).backgroundColor"))
        }
        #expect(backgrounds[0] != backgrounds[1])
    }
}
