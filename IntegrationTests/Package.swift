// swift-tools-version: 6.2

import PackageDescription

// `make verify` sets this variable, for the tests that need other programs, real servers or a long time.
let verifies = Context.environment["ACCOUNTKIT_VERIFY"] != nil

// The end-to-end tests of the built commands. They are in a separate package, so that packages that depend on AccountKit don't build them,
// and so that Examples contains only programs for people to read.
let package = Package(
    name: "account-kit-integration-tests",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "auth-server", targets: ["auth-server"])
    ],
    dependencies: [
        .package(name: "swift-account-kit", path: "..", traits: ["Offline", "Signatures"]),
        .package(name: "account-kit-examples", path: "../Examples"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0", traits: []),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0", traits: []),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.34.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2", traits: []),
    ],
    targets: [
        // The authorization server for the tests and demos. It fails in many ways on request.
        .systemLibrary(
            name: "CServerSodium",
            pkgConfig: "libsodium",
            providers: [.apt(["libsodium-dev"]), .brew(["libsodium"])]
        ),
        .executableTarget(
            name: "auth-server",
            dependencies: [
                "CServerSodium",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HummingbirdTLS", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOFoundationEssentialsCompat", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]
        ),
        // Starts servers, commands and terminals for the tests. Tests import it with `@testable`.
        .target(
            name: "EndToEndSupport",
            dependencies: [
                .product(name: "AccountKit", package: "swift-account-kit"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "Subprocess", package: "swift-subprocess"),
            ]
        ),
        // Runs the built commands as a user or a script does. There is one folder for each command.
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                .product(name: "api-client", package: "account-kit-examples"),
                .product(name: "api-poller", package: "account-kit-examples"),
                "auth-server",
                .product(name: "embed-login", package: "account-kit-examples"),
                "EndToEndSupport",
                .product(name: "gists", package: "account-kit-examples"),
                .product(name: "homepwner", package: "account-kit-examples"),
                .product(name: "oauth-login", package: "account-kit-examples"),
                .product(name: "reading-list", package: "account-kit-examples"),
                .product(name: "account", package: "swift-account-kit"),
                .product(name: "AccountHTTP", package: "swift-account-kit"),
                .product(name: "AccountKit", package: "swift-account-kit"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "Subprocess", package: "swift-subprocess"),
            ],
            path: "Tests",
            exclude: ["AuthServer", "ExampleLibraries"]
        ),
        // Unit tests of the examples.
        .testTarget(
            name: "ExampleLibrariesTests",
            dependencies: [
                .product(name: "AccountDocuments", package: "swift-account-kit"),
                .product(name: "AccountKit", package: "swift-account-kit"),
                .product(name: "ExampleLibraries", package: "account-kit-examples"),
            ],
            path: "Tests/ExampleLibraries"
        ),
        // Unit tests of the authorization server.
        .testTarget(
            name: "AuthServerTests",
            dependencies: [
                "auth-server",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOFoundationEssentialsCompat", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "Tests/AuthServer"
        ),
    ]
)

// The tests of `make verify`.
if verifies {
    let support: [Target.Dependency] = [
        .product(name: "account", package: "swift-account-kit"),
        .product(name: "AccountHTTP", package: "swift-account-kit"),
        .product(name: "AccountKit", package: "swift-account-kit"),
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        "auth-server",
        "EndToEndSupport",
        .product(name: "gists", package: "account-kit-examples"),
        .product(name: "homepwner", package: "account-kit-examples"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "oauth-login", package: "account-kit-examples"),
        .product(name: "reading-list", package: "account-kit-examples"),
        .product(name: "Subprocess", package: "swift-subprocess"),
    ]
    package.targets += [
        // A test tool that stores files on a WebDAV server.
        .executableTarget(
            name: "webdav",
            dependencies: [
                .product(name: "AccountCommands", package: "swift-account-kit"),
                .product(name: "AccountHTTP", package: "swift-account-kit"),
                .product(name: "AccountKit", package: "swift-account-kit"),
                .product(name: "AccountDocuments", package: "swift-account-kit"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
        // Servers and programs that this project did not write, and a browser.
        .testTarget(name: "ServerTests", dependencies: support + ["webdav"], path: "Verification/Servers"),
        // Sessions that several machines share through etcd.
        .testTarget(name: "ClusterTests", dependencies: support, path: "Verification/Clusters"),
        // Storms of processes, traces of system calls, key programs, and the demos.
        .testTarget(name: "ProcessTests", dependencies: support, path: "Verification/Processes"),
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

    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0443-warning-control-flags.md A warning fails
    // the build of this package, but never the build of a package that depends on it.
    settings.append(.treatAllWarnings(as: .error))

    target.swiftSettings = settings
}
