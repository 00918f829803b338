// swift-tools-version: 6.2

import PackageDescription

// `make verify` sets this variable. Without it, the package has only the tests that need nothing but Swift and libsodium,
// and none of the programs of Verification.
let verifies = Context.environment["ACCOUNTKIT_VERIFY"] != nil

let package = Package(
    name: "swift-account-kit",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "AccountKit", targets: ["AccountKit"]),
        .library(name: "AccountHTTP", targets: ["AccountHTTP"]),
        .library(name: "AccountCommands", targets: ["AccountCommands"]),
        .library(name: "AccountDocuments", targets: ["AccountDocuments"]),
        .library(name: "AccountFleet", targets: ["AccountFleet"]),
        .library(name: "AccountHelpers", targets: ["AccountHelpers"]),
        .library(name: "AccountOffline", targets: ["AccountOffline"]),
        .library(name: "AccountTesting", targets: ["AccountTesting"]),
        .executable(name: "account", targets: ["account"]),
    ],
    traits: [
        // With an explicit default, `--enable-all-traits` selects the traits in the same order as IntegrationTests/Package.swift; see
        // Scripts/build.sh.
        .default(enabledTraits: []),
        // Without this trait, SwiftPM neither fetches nor builds GRDB.
        .trait(
            name: "Offline",
            description: "AccountOffline: offline lists, and changes that are sent later."),
        // Without this trait, SwiftPM does not build swift-crypto. async-http-client requires SwiftPM to fetch it anyway.
        .trait(
            name: "Signatures",
            description: "AccountHTTP: clients that authenticate with a key, and tokens that are bound to a key."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0", traits: []),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2", traits: []),
    ],
    targets: [
        // The C targets: libsodium, and the few system calls that Swift cannot import.
        .systemLibrary(
            name: "CSodium",
            pkgConfig: "libsodium",
            providers: [.apt(["libsodium-dev"]), .brew(["libsodium"])]
        ),
        .target(name: "CAccountKitShims"),

        // Below the core: cryptography, code that several modules need, and the checks of a connection.
        .target(name: "AccountCrypto", dependencies: ["CSodium"]),
        .target(name: "AccountSupport", dependencies: ["AccountCrypto"]),
        .target(
            name: "AccountNetwork",
            dependencies: [
                "AccountSupport",
                "CAccountKitShims",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]
        ),

        // The core.
        .target(
            name: "AccountKit",
            dependencies: [
                "AccountCrypto",
                "AccountSupport",
                "CAccountKitShims",
                .product(name: "Logging", package: "swift-log"),
            ]
        ),

        // The modules around the core, which do not import each other.
        .target(
            name: "AccountHTTP",
            dependencies: [
                "AccountKit",
                "AccountNetwork",
                "AccountSupport",
                "AccountCrypto",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Signatures"])),
                .product(name: "CryptoExtras", package: "swift-crypto", condition: .when(traits: ["Signatures"])),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]
        ),
        .target(
            name: "AccountCommands",
            dependencies: [
                "AccountKit",
                "AccountSupport",
                "CAccountKitShims",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Subprocess", package: "swift-subprocess"),
            ]
        ),
        .target(
            name: "AccountDocuments",
            dependencies: [
                "AccountCrypto",
                "AccountKit",
                "AccountSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
        .target(
            name: "AccountFleet",
            dependencies: [
                "AccountKit",
                "AccountNetwork",
                "AccountSupport",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]
        ),
        .target(
            name: "AccountHelpers",
            dependencies: [
                "AccountCommands",
                "AccountKit",
                "AccountSupport",
                "CAccountKitShims",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Subprocess", package: "swift-subprocess"),
            ]
        ),
        .target(
            name: "AccountOffline",
            dependencies: [
                "AccountKit",
                "AccountSupport",
                "AccountCrypto",
                .product(name: "GRDB", package: "GRDB.swift", condition: .when(traits: ["Offline"])),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .target(
            name: "AccountTesting",
            dependencies: [
                "AccountKit",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "InMemoryLogging", package: "swift-log"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),

        // The command.
        .executableTarget(
            name: "account",
            dependencies: [
                "AccountKit",
                "AccountHTTP",
                "AccountCommands",
                "AccountFleet",
                "AccountHelpers",
                "CAccountKitShims",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
            ]
        ),

        // The tests: those without I/O mirror their module; those that need files and processes have separate targets.
        .target(name: "BoundedWaiting", path: "Tests/BoundedWaiting"),
        .target(name: "TestScene", dependencies: ["AccountKit", "AccountTesting"], path: "Tests/TestScene"),
        .testTarget(name: "AccountCryptoTests", dependencies: ["AccountCrypto"], exclude: ["Fixtures"]),
        .testTarget(
            name: "AccountSupportTests",
            dependencies: ["AccountCrypto", "AccountKit", "AccountSupport", "AccountTesting"]),
        .testTarget(name: "AccountNetworkTests", dependencies: ["AccountNetwork", "AccountSupport"]),
        .testTarget(
            name: "AccountKitTests",
            dependencies: [
                "AccountKit",
                "AccountTesting",
                "TestScene",
                "AccountCrypto",
                .product(name: "Logging", package: "swift-log"),
            ],
            exclude: ["Vault/Fixtures"]
        ),
        .testTarget(
            name: "AccountTestingTests",
            dependencies: [
                "AccountKit", "AccountTesting", "TestScene", .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .testTarget(
            name: "AccountHTTPTests",
            dependencies: [
                "AccountHTTP",
                "AccountKit",
                "AccountNetwork",
                "AccountSupport",
                "AccountTesting",
                "BoundedWaiting",
                "AccountCrypto",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Signatures"])),
                .product(name: "CryptoExtras", package: "swift-crypto", condition: .when(traits: ["Signatures"])),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "InMemoryLogging", package: "swift-log"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]
        ),
        .testTarget(
            name: "AccountCommandsTests",
            dependencies: [
                "AccountCommands",
                "AccountHelpers",
                "AccountKit",
                "AccountSupport",
                "AccountTesting",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]
        ),
        .testTarget(
            name: "AccountCommandsSystemTests",
            dependencies: ["AccountCommands", "AccountKit", "AccountTesting", "BoundedWaiting", "signal-exerciser"]
        ),
        .testTarget(
            name: "AccountHelpersTests",
            dependencies: [
                "AccountCommands", "AccountHelpers", "AccountKit", "AccountSupport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]
        ),
        .testTarget(
            name: "AccountHelpersSystemTests",
            dependencies: [
                "AccountCommands", "AccountHelpers", "AccountKit", "AccountSupport", "AccountTesting", "BoundedWaiting",
            ]
        ),
        .testTarget(
            name: "AccountFleetTests", dependencies: ["AccountFleet", "AccountKit", "AccountTesting", "TestScene"]),
        .testTarget(
            name: "AccountDocumentsTests",
            dependencies: [
                "AccountCrypto", "AccountDocuments", "AccountKit", "AccountSupport", "AccountTesting", "TestScene",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
        .testTarget(
            name: "AccountOfflineTests",
            dependencies: [
                "AccountKit",
                "AccountOffline",
                "AccountTesting",
                "TestScene",
                "AccountCrypto",
                .product(name: "GRDB", package: "GRDB.swift", condition: .when(traits: ["Offline"])),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
        // With `verifies`, also the tests that run strace, gcore or Python.
        .testTarget(
            name: "AccountKitSystemTests",
            dependencies: [
                "AccountKit", "AccountTesting", "TestScene", "BoundedWaiting", "AccountCrypto", "archive-exerciser",
            ]
                + (verifies ? ["memory-exerciser"] : []),
            exclude: ["Support/token_server.py"]
                + (verifies
                    ? []
                    : [
                        "FollowingProcessTests.swift", "MemoryTests.swift", "SystemCallFaultTests.swift",
                        "Support/ProcessMemory.swift",
                    ])
        ),
        .executableTarget(
            name: "archive-exerciser",
            dependencies: ["AccountKit"],
            path: "Verification/Programs/archive-exerciser"
        ),
        .executableTarget(
            name: "signal-exerciser",
            dependencies: ["AccountCommands", "AccountKit"],
            path: "Verification/Programs/signal-exerciser"
        ),
        // The source of the code in the README and the articles, which Scripts/snippets.py copies.
        .executableTarget(
            name: "snippet-notes",
            dependencies: [
                "AccountCommands",
                "AccountHTTP",
                "AccountKit",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Tests/snippet-notes"
        ),
        .testTarget(
            name: "SnippetTests",
            dependencies: [
                "AccountCommands", "AccountFleet", "AccountHTTP", "AccountKit", "AccountTesting", "TestScene",
                "BoundedWaiting",
                "snippet-notes",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
    ]
)

// The tests and programs of `make verify`.
if verifies {
    package.targets += [
        .testTarget(
            name: "AccountFleetSystemTests",
            dependencies: [
                "AccountFleet",
                "AccountKit",
                "AccountTesting",
                "TestScene",
                "BoundedWaiting",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]
        ),
        // An independent reader of the archive format, in Python.
        .testTarget(
            name: "ReaderTests",
            dependencies: ["AccountKit", "AccountTesting", "BoundedWaiting", "AccountCrypto"],
            exclude: ["flip_every_bit.py", "read_account.py"]
        ),
        .executableTarget(
            name: "memory-exerciser",
            dependencies: ["AccountHTTP", "AccountKit"],
            path: "Verification/Programs/memory-exerciser"
        ),
        .executableTarget(
            name: "offline-exerciser",
            dependencies: [
                "AccountDocuments", "AccountKit", "AccountOffline",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            path: "Verification/Programs/offline-exerciser"
        ),
        // Simulates random lives of sessions, which are reproducible by their seeds. The C part runs the tasks, and
        // replaces libsodium.
        .target(name: "CSimulation", dependencies: ["CSodium"], path: "Verification/Simulation/CSimulation"),
        .executableTarget(
            name: "simulation",
            dependencies: ["AccountKit", "CSimulation"],
            path: "Verification/Simulation",
            exclude: ["CSimulation", "README.md", "run.sh"]
        ),
        .executableTarget(
            name: "speed-exerciser",
            dependencies: ["AccountCommands", "AccountKit"],
            path: "Verification/Programs/speed-exerciser"
        ),
    ]
}

for target in package.targets where target.type != .system {
    var settings = target.swiftSettings ?? []

    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0335-existential-any.md
    // Require `any` for existential types.
    settings.append(.enableUpcomingFeature("ExistentialAny"))

    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0409-access-level-on-imports.md Imports are
    // internal by default.
    settings.append(.enableUpcomingFeature("InternalImportsByDefault"))

    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0444-member-import-visibility.md
    // A member can be used only where its module is imported.
    settings.append(.enableUpcomingFeature("MemberImportVisibility"))

    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0461-async-function-isolation.md
    // Asynchronous functions of the core run on the actor of the caller, so that loading an account changes no thread.
    if ["AccountCrypto", "AccountSupport", "AccountKit", "AccountKitTests"].contains(target.name) {
        settings.append(.enableUpcomingFeature("NonisolatedNonsendingByDefault"))
    }

    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0443-warning-control-flags.md
    // A warning fails the build of this package, but never the build of a package that depends on it.
    settings.append(.treatAllWarnings(as: .error))

    target.swiftSettings = settings
}
