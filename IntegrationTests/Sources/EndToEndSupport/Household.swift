import Foundation

/// A container of `homepwner`, and its files.
struct Household: Sendable {
    let container: Container
    let homepwner: Tool

    /// An item in the output of `list --json`.
    struct Item: Decodable, Equatable {
        let id: String
        let name: String
        let serial: String?
        let value: Int?
        let createdAt: String
        let photo: Bool
    }

    private struct List: Decodable {
        let items: [Item]
    }

    /// Runs a test with a separate household.
    static func run<Result: Sendable>(_ test: (Household) async throws -> Result) async throws -> Result {
        try await Container.run { try await test(Household(container: $0)) }
    }

    init(container: Container) throws {
        self.container = container
        var environment = container.environment
        environment["ACCOUNT_HOME"] = nil
        environment["HOMEPWNER_HOME"] = container.home
        homepwner = Tool(path: try BuiltProducts.path(of: "homepwner"), environment: environment)
    }

    /// A copy of the household with all its files.
    func copy(_ name: String) throws -> Household {
        let copy = Container(root: container.path(name))
        try FileManager.default.createDirectory(atPath: copy.root, withIntermediateDirectories: false)
        if container.exists(container.home) {
            try FileManager.default.copyItem(atPath: container.home, toPath: copy.home)
        }
        return try Household(container: copy)
    }

    var documents: String { container.home + "/Documents" }
    var document: String { documents + "/Items.plist" }
    var photos: String { documents + "/Items" }

    /// Adds an item, and returns its id.
    func add(_ arguments: String...) async throws -> String {
        let outcome = try await homepwner.run(["add"] + arguments)
        guard outcome.exitCode == 0, outcome.output.hasSuffix("\n") else { throw Unexpected(outcome) }
        return String(outcome.output.dropLast())
    }

    func items() async throws -> [Item] {
        let outcome = try await homepwner("list", "--json")
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
        return try JSONDecoder().decode(List.self, from: Data(outcome.output.utf8)).items
    }

    /// Creates a photo that is larger than the buffer for copies, and returns its path.
    func photo(_ name: String, byte: UInt8) throws -> String {
        try container.write([UInt8](repeating: byte, count: 150_000), to: container.path(name))
        return container.path(name)
    }

    func names(in folder: String) -> Set<String> {
        Set((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [])
    }

    /// The IDs of the items' photos, by item name.
    func namedPhotos() throws -> [String: String] {
        guard container.exists(document) else { return [:] }
        let data = try Data(contentsOf: URL(filePath: document))
        guard let list = try PropertyListSerialization.propertyList(from: data, format: nil) as? [[String: Any]] else {
            throw Unexpected("the items are not a list")
        }
        return list.reduce(into: [:]) { photos, item in
            if let name = item["name"] as? String, let photo = item["photo"] as? String { photos[name] = photo }
        }
    }

    /// The first inconsistency between the items and their photos, or `nil` if there is none.
    ///
    /// - Parameter isTidy: Whether any other file counts as an inconsistency.
    func disagreement(isTidy: Bool) throws -> String? {
        let named = Set(try namedPhotos().values)
        let (files, others) = (names(in: photos), names(in: documents))
        for id in named {
            let bytes = try container.entry(photos + "/" + id)?.bytes ?? []
            if bytes.count != 150_000 || Set(bytes).count != 1 { return "the photo \(id) has \(bytes.count) bytes" }
        }
        guard isTidy else { return nil }
        if files != named { return "photos \(named.sorted()), files \(files.sorted())" }
        let stray = others.subtracting(["Items", "Items.lock", "Items.plist"])
        return stray.isEmpty ? nil : "stray files \(stray.sorted())"
    }
}
