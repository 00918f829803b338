@testable import EndToEndSupport
import Foundation
import NIOCore
import NIOHTTP1
import Subprocess

/// Headless Chromium, controlled by chromedriver.
///
/// Sources: W3C WebDriver, and the Chrome DevTools Protocol for features that WebDriver does not have. chromedriver
/// forwards its commands.
struct Browser: Sendable {
    /// The URL of the chromedriver session.
    private let session: String

    /// Opens a browser with an empty profile, and closes it after the test.
    static func run<Result: Sendable>(
        in container: Container, _ test: (Browser) async throws -> Result
    ) async throws -> Result {
        // With port 0, chromedriver selects a port that is free for IPv4, and exits if the port is in use for IPv6.
        let driver = Command(
            words: ["chromedriver", "--port=\(try FreePort.find())", "--log-level=WARNING"],
            environment: container.environment)
        return try await ServerProcess.run(
            driver, readingAddress: address(in:), endingAs: .signaled(SIGTERM)
        ) { address in
            let browser = try await open(at: address, dataFolder: container.path("browser-\(UUID().uuidString)"))
            let result: Result
            do {
                result = try await test(browser)
            } catch {
                try await browser.close()
                throw error
            }
            try await browser.close()
            return result
        }
    }

    /// The address in the line that chromedriver prints when it is ready.
    private static func address(in line: String) -> String? {
        guard let port = line.firstMatch(of: /started successfully on port ([0-9]+)/)?.output.1 else { return nil }
        return "http://127.0.0.1:\(port)"
    }

    private static func open(at driver: String, dataFolder: String) async throws -> Browser {
        var arguments = ["--headless=new", "--user-data-dir=\(dataFolder)", "--disable-dev-shm-usage"]
        // Chromium's sandbox does not run as root, and all pages come from the tests.
        if Privileges.isRoot { arguments.append("--no-sandbox") }
        // The HTTP client waits 90 seconds for a response.
        let timeouts = ["implicit": 80, "pageLoad": 80, "script": 80].mapValues { JSON.integer($0 * 1000) }
        let capabilities: [String: JSON] = [
            "browserName": .text("chrome"),
            // The time in milliseconds for which chromedriver waits for elements, pages and scripts.
            "timeouts": .object(timeouts),
            "goog:chromeOptions": .object(["args": .list(arguments)]),
        ]
        let response = try await send(
            .POST, driver + "/session", ["capabilities": .object(["alwaysMatch": .object(capabilities)])])
        guard case .object(let members) = response, case .text(let id)? = members["sessionId"] else {
            throw Unexpected("chromedriver started no session: \(response)")
        }
        let browser = Browser(session: "\(driver)/session/\(id)")
        // Canaille checks each field with htmx. If this request ends after the form was sent, its cookie replaces the new
        // cookie of the form, and Canaille rejects the password.
        _ = try await browser.command("Network.enable")
        _ = try await browser.command("Network.setBlockedURLs", ["urls": .array([.text("*/htmx/*")])])
        return browser
    }

    private func close() async throws { _ = try await Self.send(.DELETE, session) }

    // MARK: The protocol

    private struct Response: Decodable {
        let value: JSON
    }

    /// The command had no effect, since the element's page is no longer shown.
    private struct StaleElement: Error {}

    private struct NoSuchElement: Error {}

    private static func send(_ method: HTTPMethod, _ url: String, _ body: [String: JSON]? = nil) async throws -> JSON {
        let bytes = try body.map { [UInt8](try JSONEncoder().encode($0)) }
        let response = try await HTTP.send(
            method, url, body: bytes, contentType: "application/json", timeout: .minutes(6))
        let value = try JSONDecoder().decode(Response.self, from: Data(response.text.utf8)).value
        guard response.status == 200 else {
            if case .object(let problem) = value, case .text(let error)? = problem["error"] {
                if error == "stale element reference" { throw StaleElement() }
                if error == "no such element" { throw NoSuchElement() }
            }
            throw Unexpected("the browser: \(response.text.prefix(1000))")
        }
        return value
    }

    private func get(_ path: String) async throws -> String {
        let value = try await Self.send(.GET, session + "/" + path)
        guard case .text(let text) = value else { throw Unexpected("the browser: \(path) is \(value)") }
        return text
    }

    private func post(_ path: String, _ body: [String: JSON] = [:]) async throws -> JSON {
        try await Self.send(.POST, session + "/" + path, body)
    }

    /// Waits for an element that matches a CSS selector, and returns the path of the first match.
    private func element(_ selector: String) async throws -> String {
        do {
            return try await find(selector)
        } catch is NoSuchElement {
            let text = try await get(try await find("body") + "/text")
            throw Unexpected("the browser shows no \(selector), but: \(text.prefix(1000))")
        }
    }

    private func find(_ selector: String) async throws -> String {
        let found = try await post("element", ["using": .text("css selector"), "value": .text(selector)])
        guard case .object(let reference) = found, case .text(let id)? = reference.values.first else {
            throw Unexpected("the browser found \(found)")
        }
        return "element/\(id)"
    }

    /// Calls `body` with the first element that matches a CSS selector, and calls it again if a new page has replaced
    /// the element's page.
    private func withElement<Result: Sendable>(
        _ selector: String, _ body: (_ path: String) async throws -> Result
    ) async throws -> Result {
        while true {
            do {
                return try await body(try await element(selector))
            } catch is StaleElement {
                continue
            }
        }
    }
}

// MARK: - User actions

extension Browser {
    /// A user action on a page. A CSS selector identifies the element, and the step waits until the element exists.
    enum Step: Sendable {
        case type(String, into: String)
        case press(String)
        /// Waits for an element that only the next page contains.
        case see(String)
    }

    func open(_ address: String) async throws { _ = try await post("url", ["url": .text(address)]) }

    /// Performs the steps in order, across pages.
    func follow(_ steps: [Step]) async throws {
        for step in steps {
            switch step {
            case .type(let text, let selector):
                _ = try await withElement(selector) { try await post($0 + "/value", ["text": .text(text)]) }
            case .press(let selector):
                _ = try await withElement(selector) { try await post($0 + "/click") }
            case .see(let selector): _ = try await element(selector)
            }
        }
    }

    /// The visible contents of a page, and its source.
    struct Page: Sendable {
        let address: String
        let title: String
        let heading: String
        let text: String
        /// The document after everything has loaded, as the browser serializes it.
        let source: String
    }

    /// Waits for an element that matches a CSS selector, and returns the page.
    func page(with selector: String) async throws -> Page {
        let heading = try await withElement(selector) { try await get($0 + "/text") }
        return Page(
            address: try await get("url"), title: try await get("title"), heading: heading,
            text: try await withElement("body") { try await get($0 + "/text") }, source: try await get("source"))
    }
}

// MARK: - Inspection

extension Browser {
    enum ColorScheme: String, CaseIterable, Sendable { case light, dark }

    /// The value of a JavaScript expression on the current page.
    func value(of expression: String) async throws -> JSON {
        try await post("execute/sync", ["script": .text("return " + expression), "args": .array([])])
    }

    /// The addresses in the browser's history, including the current one.
    func history() async throws -> [String] {
        let response = try await command("Page.getNavigationHistory")
        guard case .object(let history) = response, case .array(let entries)? = history["entries"] else {
            throw Unexpected("the browser has no history: \(response)")
        }
        return entries.flatMap { entry -> [String] in
            guard case .object(let members) = entry else { return [] }
            return ["url", "userTypedURL"].compactMap {
                if case .text(let address)? = members[$0] { address } else { nil }
            }
        }
    }

    /// Emulates a phone whose user prefers a light or dark color scheme.
    func becomeTelephone(_ scheme: ColorScheme) async throws {
        _ = try await command(
            "Emulation.setDeviceMetricsOverride",
            [
                "width": .integer(390), "height": .integer(844), "deviceScaleFactor": .integer(2),
                "mobile": .boolean(true),
            ])
        let feature = JSON.object(["name": .text("prefers-color-scheme"), "value": .text(scheme.rawValue)])
        _ = try await command("Emulation.setEmulatedMedia", ["features": .array([feature])])
    }

    /// Saves a screenshot for manual review.
    ///
    /// - Parameter name: The name of the picture in `.build/artefacts`.
    func takePicture(_ name: String) async throws {
        guard let picture = Data(base64Encoded: try await get("screenshot")) else {
            throw Unexpected("the browser took no screenshot")
        }
        try BuiltProducts.keep(picture, as: name + ".png")
    }

    private func command(_ name: String, _ parameters: [String: JSON] = [:]) async throws -> JSON {
        try await post("goog/cdp/execute", ["cmd": .text(name), "params": .object(parameters)])
    }
}
