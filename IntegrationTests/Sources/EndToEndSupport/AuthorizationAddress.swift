import Foundation

/// The parts of a sign-in address.
struct AuthorizationAddress: Sendable {
    let client: String
    /// The redirect URI.
    let callback: String
    let state: String
    let challenge: String

    init(_ address: String) throws {
        let items = URLComponents(string: address)?.queryItems ?? []
        func value(_ name: String) throws -> String {
            guard let value = items.first(where: { $0.name == name })?.value else {
                throw Unexpected("there is no \(name) in \(address)")
            }
            return value
        }
        client = try value("client_id")
        callback = try value("redirect_uri")
        state = try value("state")
        challenge = try value("code_challenge")
    }

    /// The address of the result page.
    var result: String { callback.replacing("/callback", with: "/done") }
}

extension Tool {
    /// Runs `login --web`, and calls `use` with the address that the command shows.
    func logIn(_ arguments: [String], usingAddress use: (String) async throws -> Void) async throws -> Outcome {
        // Unless the test provides a browser, use a browser that does nothing.
        let login = environment["BROWSER"] == nil ? with("BROWSER", "true") : self
        return try await login.command(["login", "--web"] + arguments).run { line in
            guard let address = line.firstMatch(of: /^ +(http\S+)$/)?.output.1 else { return }
            try await use(String(address))
        }
    }
}
