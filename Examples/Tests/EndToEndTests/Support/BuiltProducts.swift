import Foundation

/// What SwiftPM has built beside the tests, and the files that lie beside their sources.
enum BuiltProducts {
    struct Missing: Error, CustomStringConvertible {
        let description: String
    }

    /// The folder of the built executables.
    static var folder: URL {
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
        return bundle?.deletingLastPathComponent() ?? Bundle.main.bundleURL
    }

    /// A place in the build folder for what takes long to make and can be made again.
    static func cache(_ name: String) -> String {
        folder.deletingLastPathComponent().appending(component: name).path
    }

    /// The path of a built executable.
    static func path(of executable: String) throws -> String {
        let path = folder.appending(component: executable).path
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw Missing(description: "there is no executable \(path)")
        }
        return path
    }

    /// The folder of these tests' sources.
    private static let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()

    /// The path of a file in `Fixtures`.
    static func fixture(_ name: String) -> String { sources.path + "/Fixtures/" + name }

    /// The path of a file in `Examples`.
    static func example(_ name: String) -> String {
        sources.deletingLastPathComponent().deletingLastPathComponent().appending(component: name).path
    }

    /// Keeps something for people to look at after the tests, in place of what an earlier run has left there.
    ///
    /// - Parameter name: Its name in `.build/artefacts`.
    static func keep(_ bytes: Data, as name: String) throws {
        let examples = sources.deletingLastPathComponent().deletingLastPathComponent()
        let folder = examples.deletingLastPathComponent().appending(components: ".build", "artefacts")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try bytes.write(to: folder.appending(component: name), options: .atomic)
    }
}
