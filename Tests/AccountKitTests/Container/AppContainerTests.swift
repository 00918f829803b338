@testable import AccountKit
import AccountTesting
import AccountSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

struct AppContainerTests {
    private static let variables = [
        "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "TMPDIR",
    ]

    private static func container(_ environment: [String: String], home: String? = "/home/alice") throws -> AppContainer
    {
        try AppContainer(identifier: "com.example.gists", environment: { environment[$0] }, home: home)
    }

    private static func path(_ url: URL) -> String {
        let path = url.path(percentEncoded: false)
        return path.hasSuffix("/") ? String(path.dropLast()) : path
    }

    private static func paths(_ container: AppContainer) -> [String] {
        [container.documents, container.caches, container.preferences, container.keys, container.temporary].map(path)
    }

    // MARK: Variables

    @Test func `Refuses a path that is not UTF-8, and names its variable`() async {
        await #expect(processExitsWith: .success) {
            let variables = ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "TMPDIR"]
            for name in variables {
                let before = getenv(name).map { String(cString: $0) }
                let bytes: [CChar] = [0x2F, 0x61, -1, 0x62, 0]
                setenv(name, bytes, 1)
                let error = expectAccountError(.invalidArgument) { try AppContainer(identifier: "a") }
                #expect(error?.message == "the path in \(name) is not UTF-8, so this program cannot use it")
                #expect((Environment.homeDirectory == nil) == (name == "HOME"))
                if let before { setenv(name, before, 1) } else { unsetenv(name) }
            }
            setenv("HOME", "/home/ü", 1)
            #expect(Environment.homeDirectory == "/home/ü")
        }
    }

    // MARK: Identifiers

    @Test(arguments: [
        "com.example.gists", "account", "a", "A_b-c.9", "0", "-x", String(repeating: "x", count: 128),
    ])
    func `Accepts valid container identifiers`(identifier: String) throws {
        #expect(try AppContainer(root: "/r", identifier: identifier).identifier == identifier)
    }

    @Test(arguments: [
        "", ".", "..", ".hidden", "a/b", "/a", "a b", "a\u{0}", "ä", "е", "①", "a\n", "../../etc",
        String(repeating: "x", count: 129),
    ])
    func `Rejects invalid container identifiers and names the allowed length`(identifier: String) {
        let error = expectAccountError(.invalidArgument) {
            try AppContainer(root: "/r", identifier: identifier)
        }
        #expect(error?.description.contains("1 to 128") == true)
        expectAccountError(.invalidArgument) { try AppContainer(identifier: identifier) }
    }

    // MARK: XDG

    #if os(Linux)
    private static let defaults = [
        "/home/alice/.local/share/com.example.gists/Documents", "/home/alice/.cache/com.example.gists",
        "/home/alice/.config/com.example.gists", "/home/alice/.local/state/com.example.gists",
        "/tmp/com.example.gists-\(SystemCall.effectiveUser)",
    ]

    @Test(arguments: ["", "relative", "./here", "~/share", "../up", " /leading space"])
    func `Uses the default folders for empty and relative XDG variables`(value: String) throws {
        let environment = Dictionary(uniqueKeysWithValues: Self.variables.map { ($0, value) })
        #expect(Self.paths(try Self.container(environment)) == Self.defaults)
    }

    @Test func `Moves only the matching folder for each absolute XDG variable`() throws {
        let expected = [
            "/x/com.example.gists/Documents", "/x/com.example.gists", "/x/com.example.gists", "/x/com.example.gists",
            "/x/com.example.gists", "/x/com.example.gists-\(SystemCall.effectiveUser)",
        ]
        for (index, variable) in Self.variables.enumerated() {
            var paths = Self.defaults
            paths[min(index, 4)] = expected[index]
            #expect(Self.paths(try Self.container([variable: "/x"])) == paths, "\(variable)")
        }
    }

    @Test func `Places the key in a different folder tree than the archive`() throws {
        let container = try Self.container([:])
        #expect(!Self.path(container.keys).hasPrefix(container.root))
        #expect(!Self.path(container.keys).hasPrefix(Self.path(container.caches)))
        for (session, path) in [("default", "Account.key"), ("work", "Sessions/work/Account.key")] {
            let key = KeySource.file.provider(in: container, session: try SessionName(session)) as? KeyFile
            #expect(key?.path == "/home/alice/.local/state/com.example.gists/" + path)
        }
    }

    @Test func `Checks each XDG folder from the root of its tree`() throws {
        let container = try Self.container([:])
        let name = "/com.example.gists"
        for (path, root) in [
            (container.documentsPath + "/Sessions/work", "/home/alice/.local/share" + name),
            ("/home/alice/.cache\(name)/Store/work", "/home/alice/.cache" + name),
            ("/home/alice/.config\(name)/Sessions/work", "/home/alice/.config" + name),
            (container.keysPath, "/home/alice/.local/state" + name),
        ] {
            #expect(container.folder(path).root == root)
        }
    }
    #endif

    // MARK: One root

    @Test(arguments: ["/r", "/r/", "/home/al ice", "/ä/日本", "/100%/a%20b", "/a#b?c;d", "/a//b", "/a:b\\c"])
    func `Uses the folder layout of iOS below a single root`(root: String) throws {
        let container = try AppContainer(root: root, identifier: "a")
        let base = root.hasSuffix("/") ? String(root.dropLast()) : root
        let expected = ["Documents", "Library/Caches", "Library/Preferences", "Library/Keys", "tmp"].map {
            (base + "/" + $0).replacing("//", with: "/")
        }
        #expect(Self.paths(container).map { $0.replacing("//", with: "/") } == expected)
        let work = container.directory(of: try SessionName("work"))
        #expect(work.replacing("//", with: "/") == expected[0] + "/Sessions/work")
        #expect(container.directory(of: .default).replacing("//", with: "/") == expected[0])
    }

    @Test func `Checks each folder from the root of the container`() throws {
        let container = try AppContainer(root: "/r", identifier: "a")
        for url in [container.documents, container.caches, container.preferences, container.keys, container.temporary] {
            #expect(container.folder(Self.path(url) + "/Sessions/work").root == "/r")
        }
    }

    @Test(arguments: ["", "relative", "./here", "~", "~/here"])
    func `Rejects a container root that is not absolute`(root: String) {
        expectAccountError(.invalidArgument) { try AppContainer(root: root, identifier: "a") }
    }
}
