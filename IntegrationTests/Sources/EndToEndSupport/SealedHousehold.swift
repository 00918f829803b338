import Foundation

/// A household whose user can sign in.
struct SealedHousehold: Sendable {
    let server: ExampleServer
    let household: Household

    static func run<Result: Sendable>(_ test: (SealedHousehold) async throws -> Result) async throws -> Result {
        try await ExampleServer.run { server in
            try await Household.run { household in
                let user = SealedHousehold(server: server, household: household)
                try await user.signIn()
                return try await test(user)
            }
        }
    }

    func signIn(as username: String = "alice") async throws {
        let password = username == "alice" ? ExampleServer.alicePassword : ExampleServer.bobPassword
        let outcome = try await household.homepwner.run(
            ["account", "login", "--issuer", server.issuer, "--username", username, "--password-stdin"],
            input: password + "\n")
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
    }

    /// A photo whose content repeats a string.
    func photo(_ name: String, of text: String) throws -> String {
        let folder = household.container.path("photos")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try household.container.write(
            Array(repeatElement(Array(text.utf8), count: 9000).joined()), to: folder + "/" + name)
        return folder + "/" + name
    }
}

extension Household {
    /// The files of the container whose content or path contains a string.
    func files(containing text: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: container.home).filter { path in
            // Folders have no content.
            let bytes = FileManager.default.contents(atPath: container.home + "/" + path) ?? Data()
            return path.contains(text) || bytes.range(of: Data(text.utf8)) != nil
        }
    }

    /// The content of an item's photo.
    func exportedPhoto(of id: String) async throws -> Data {
        let copy = container.path("exported")
        let outcome = try await homepwner("photo", "export", id, copy)
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
        return try Data(contentsOf: URL(filePath: copy))
    }
}
