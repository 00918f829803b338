import Foundation

/// The executables that SwiftPM has built, and the files next to the tests' sources.
enum BuiltProducts {
    struct Missing: Error, CustomStringConvertible {
        let description: String
    }

    /// The folder of the built executables.
    static var folder: URL {
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
        return bundle?.deletingLastPathComponent() ?? Bundle.main.bundleURL
    }

    /// A path in the build folder for files that take a long time to create and that the tests can recreate.
    static func cache(_ name: String) -> String {
        folder.deletingLastPathComponent().appending(component: name).path
    }

    /// The path of the `account` command that `make install` installs, if the tests run with that command. It starts
    /// several times as fast as the command of the debug build.
    static let installedAccount = ProcessInfo.processInfo.environment["INSTALLED_ACCOUNT"]

    /// The path of the `account` command of the debug build.
    static var debugAccount: String { folder.appending(component: "account").path }

    /// Returns the path of an executable of the debug build. For `account`, returns the path of the installed command if
    /// the tests run with that command.
    static func path(of executable: String) throws -> String {
        let installed = executable == "account" ? installedAccount : nil
        let path = installed ?? folder.appending(component: executable).path
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw Missing(description: "there is no executable \(path)")
        }
        return path
    }

    /// The folder of this package: `IntegrationTests`.
    private static let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The folder of the repository.
    static let repository = package.deletingLastPathComponent()

    /// The path of a file in `Fixtures`.
    static func fixture(_ name: String) -> String { package.path + "/Fixtures/" + name }

    /// The path of a file in `Examples`.
    static func example(_ name: String) -> String { repository.path + "/Examples/" + name }

    /// Saves a file for review after the tests, replacing the file of an earlier run.
    ///
    /// - Parameter name: The file's name in `.build/artefacts`.
    static func keep(_ bytes: Data, as name: String) throws {
        let folder = repository.appending(components: ".build", "artefacts")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try bytes.write(to: folder.appending(component: name), options: .atomic)
    }
}
